package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"misstep/bench"
)

// leastFaults and leastSound are without which the part has measured nothing.
const leastFaults, leastSound = 100, 100

func (a *answers) put() (put, right int) {
	for _, of := range a.Faults {
		put, right = put+of.Put, right+of.Right
	}
	return put, right
}

func (a *answers) reached() string {
	put, _ := a.put()
	return fmt.Sprintf("%d recordings of %d JDKs, %d faults", a.Made, len(a.ByJDK), put)
}

func (a *answers) goals() []bench.Goal {
	put, right := a.put()
	severity, refused, unlabelled := math.NaN(), math.NaN(), math.NaN()
	if put >= leastFaults {
		severity = 100 * float64(right) / float64(put)
	}
	if a.Whole >= leastSound {
		refused = float64(a.Refused)
		unlabelled = 100 * float64(a.Unlabelled) / float64(a.Made)
	}
	return []bench.Goal{
		{Name: "answers, faults whose severity is right", Goal: 99, Measured: severity, Unit: "%", AtLeast: true},
		{Name: "answers, sound recordings with exit code 1", Goal: 0, Measured: refused, Unit: "recordings"},
		{Name: "answers, recordings with a fault without a cause", Goal: 5, Measured: unlabelled, Unit: "%"},
	}
}

func (a *answers) tables() []bench.Table {
	jdks := bench.Table{
		Title:   "answers: recordings as they were made",
		Columns: []string{"JDK", "recordings", "sound", "of these exit code 1", "of all with a fault without a cause"},
	}
	for _, name := range slices.Sorted(maps.Keys(a.ByJDK)) {
		of := a.ByJDK[name]
		jdks.Rows = append(jdks.Rows, []string{
			name, fmt.Sprint(of.Made), fmt.Sprint(of.Whole), fmt.Sprint(of.Refused), fmt.Sprint(of.Unlabelled),
		})
	}
	put := bench.Table{
		Title: "answers: faults that were put in", Columns: []string{"fault", "put", "severity right", "first that is not"},
	}
	for _, class := range slices.Sorted(maps.Keys(a.Faults)) {
		of := a.Faults[class]
		first := strings.Join(of.Wrong[:min(len(of.Wrong), 1)], "")
		put.Rows = append(put.Rows, []string{class, fmt.Sprint(of.Put), fmt.Sprint(of.Right), first})
	}
	places := bench.Table{Title: "answers: faults without a cause", Columns: []string{"place", "recordings"}}
	for _, place := range slices.Sorted(maps.Keys(a.Unnamed)) {
		places.Rows = append(places.Rows, []string{place, fmt.Sprint(a.Unnamed[place])})
	}
	for _, failure := range a.Failures {
		places.Rows = append(places.Rows, []string{"not made: " + failure, ""})
	}
	return []bench.Table{jdks, put, places}
}
