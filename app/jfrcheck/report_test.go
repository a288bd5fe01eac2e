package jfrcheck

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAnswer(t *testing.T) {
	made, skipped := Check{Name: "frames", Right: 1}, Check{Name: "event-edges", Skipped: "needs class files"}
	sampler := Sampler{Event: "jdk.CPUTimeSample", Counts: Counts{Samples: 180, Truncated: 3, Lost: 16}}
	cut := Recording{
		File: "a.jfr", Bytes: 50, ReadBytes: 40, MissingBytes: 50, Damage: &Damage{Kind: DamageCut, What: "it was cut", Lost: true},
	}
	for want, r := range map[string]*Report{
		"nothing was checked: the recordings have nothing to compare; not checked: event-edges": {Checks: []Check{skipped}},
		"the profile is right as far as was checked: no fault touches any of its 180 samples; " +
			"samples without a whole stack: 9.7 % of jdk.CPUTimeSample; not checked: event-edges": {
			Checks: []Check{made, skipped}, Samplers: []Sampler{sampler},
		},
		"there are no samples, so no profile to judge; something is doubtful": {Checks: []Check{made}, Doubts: []Fault{{}}},
		"there are no samples, so no profile to judge; faults beside the profile: 1 in other events, 1 in bookkeeping that no event comes to": {
			Checks: []Check{made}, Faults: []Fault{{Touches: TouchesEvents}, {Touches: TouchesBookkeeping}},
		},
		"the profile is not right: faults touch 5.0 % of its samples (9 of 180); samples without a whole stack: 9.7 % of jdk.CPUTimeSample": {
			Checks: []Check{made}, Samplers: []Sampler{sampler}, Faults: []Fault{{Touches: TouchesSamples}}, Touched: 9,
		},
		"the profile cannot be judged whole; 40.0 % of a.jfr was read, and the rest not judged; it looks as if it was cut": {
			Checks: []Check{made}, Recordings: []Recording{cut},
		},
	} {
		r.weigh()
		assert.Equal(t, want, r.Answer())
	}
}
