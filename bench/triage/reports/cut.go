package reports

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"regexp"
	"slices"

	"misstep/triage/triagetest"
)

// withCuts returns a run's report, and one that was cut where a full disk or an impatient user might have: at a random place behind
// the last thing that shows the cause.
func withCuts(r run, text string) []triagetest.Report {
	whole := r.report()
	whole.Text = text
	all := []triagetest.Report{whole}
	hash := fnv.New64a()
	fmt.Fprint(hash, r.name())
	random := rand.New(rand.NewPCG(hash.Sum64(), 1))
	if r.tool == byJSON || random.IntN(2) == 0 {
		return all
	}
	low, high := 0, len(text) // the cause shows in text[:high]
	for low < high {
		if middle := (low + high) / 2; r.missing(text[:middle]) == "" {
			high = middle
		} else {
			low = middle + 1
		}
	}
	cut := r.report()
	at := high + random.IntN(len(text)-high+1)
	cut.Text = text[:at]
	cut.Name += fmt.Sprintf(", cut at %d of %d", at, len(text))
	return append(all, cut)
}

// missing returns the first pattern that is not in a string, "" if all are.
func (r run) missing(text string) string {
	shows := r.shows
	if r.deadlock && r.tool != byJSON {
		shows = append(slices.Clone(shows), `(?m)^Found \d+ deadlock`)
	}
	for _, p := range shows {
		if !regexp.MustCompile(p).MatchString(text) {
			return p
		}
	}
	return ""
}
