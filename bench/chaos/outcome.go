package main

import (
	"fmt"
	"strings"

	"misstep/internal/proxy/objects"
)

// outcome is what one phase showed.
type outcome struct {
	Phase   string  `json:"phase"`
	Seed    uint64  `json:"seed"`
	Seconds float64 `json:"seconds"`
	// Settling are the seconds from the last fault to the end of the campaign, Calm those of the run without faults.
	Settling float64      `json:"settling_seconds"`
	Calm     float64      `json:"calm_seconds"`
	Faults   map[kind]int `json:"faults"`
	// Skipped are faults that could not be injected, for most because another one had the same target.
	Skipped map[kind]int `json:"skipped"`
	// Requests to the object store that a fault hit.
	Requests map[objects.Fault]int `json:"requests_hit"`
	Trials   int                   `json:"trials"`
	// Missing are trials that the undisturbed run has, Other those that it has not.
	Missing  int    `json:"missing"`
	Other    int    `json:"other"`
	Repeated int    `json:"recorded_twice"`
	GivenUp  int    `json:"given_up"`
	Retries  uint64 `json:"retries"`
	Findings int    `json:"findings"`
	// Different are findings, and outcomes where these depend on the recipe alone, that differ from those of the undisturbed run.
	Different  int      `json:"different"`
	NoEvidence int      `json:"evidence_missing"`
	Left       []string `json:"left"`
	Panics     []string `json:"panics"`
	// Surprises are ends of services that no fault caused directly, as of one that was started while the database was down.
	Surprises int      `json:"ends_without_fault"`
	Notes     []string `json:"notes"`
}

// faults is the number of faults injected.
func (o outcome) faults() (n int) {
	for _, count := range o.Faults {
		n += count
	}
	return n
}

// verdict says in one line what the comparison showed.
func (o outcome) verdict() string {
	var wrong []string
	for _, c := range []struct {
		n    int
		what string
	}{
		{o.Missing, "not recorded"},
		{o.Other, "recorded that do not exist"},
		{o.Repeated, "recorded more than once"},
		{o.GivenUp, "given up"},
		{o.Different, "other than without faults"},
		{o.NoEvidence, "files of evidence missing"},
		{len(o.Left), "things left behind"},
		{len(o.Panics), "panics"},
	} {
		if c.n > 0 {
			wrong = append(wrong, fmt.Sprint(c.n, " ", c.what))
		}
	}
	if len(wrong) > 0 {
		return "WRONG: " + strings.Join(wrong, ", ")
	}
	return fmt.Sprintf("each of %d trials recorded once, %d findings as without faults, nothing left", o.Trials, o.Findings)
}

// shown bounds the differences of one kind that are shown.
const shown = 5

// compare fills in what differs between the results under faults and those without.
func (o *outcome) compare(got, want results, exact bool) {
	o.Trials, o.Repeated, o.GivenUp, o.Retries = got.Recorded, got.Repeated, got.GivenUp, got.Retries
	o.Findings, o.NoEvidence = len(got.Findings), len(got.NoEvidence)
	for key := range want.Trials {
		if _, recorded := got.Trials[key]; !recorded {
			o.Missing++
		}
	}
	for key := range got.Trials {
		if _, recorded := want.Trials[key]; !recorded {
			o.Other++
		}
	}
	pairs := [][2]map[string]string{{got.Findings, want.Findings}}
	if exact {
		pairs = append(pairs, [2]map[string]string{got.Trials, want.Trials})
	} else {
		pairs[0] = [2]map[string]string{keys(got.Findings), keys(want.Findings)}
	}
	for _, pair := range pairs {
		lines, n := differences(pair[0], pair[1], shown)
		o.Different += n
		o.Notes = append(o.Notes, lines...)
	}
	o.Notes = append(o.Notes, got.NoEvidence[:min(shown, len(got.NoEvidence))]...)
}

// keys returns a map without what its values say.
func keys(m map[string]string) map[string]string {
	bare := make(map[string]string, len(m))
	for key := range m {
		bare[key] = "there"
	}
	return bare
}
