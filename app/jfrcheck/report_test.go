package jfrcheck

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAnswer(t *testing.T) {
	made, skipped := Check{Name: "frames", Right: 1}, Check{Name: "event-edges", Skipped: "needs class files"}
	sampler := Sampler{Event: "jdk.CPUTimeSample", Counts: Counts{Samples: 180, Truncated: 3, Lost: 16}}
	for want, r := range map[string]*Report{
		"nothing was checked: the recordings have nothing to compare": {Checks: []Check{skipped}},
		"nothing that was checked is wrong; samples without a whole stack: 9.7 % of jdk.CPUTimeSample; not checked: event-edges": {
			Checks: []Check{made, skipped}, Samplers: []Sampler{sampler},
		},
		"nothing is wrong for certain, but something is doubtful": {Checks: []Check{made}, Doubts: []Fault{{}}},
		"something is wrong for certain":                          {Checks: []Check{made}, Doubts: []Fault{{}}, Faults: []Fault{{}}},
	} {
		assert.Equal(t, want, r.Answer())
	}
}
