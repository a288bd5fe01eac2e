package main

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/coordinator/triage"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/sim"
)

// A try that shows what was merged into the finding is a hit, as it is for the coordinator.
func TestMergedFindingIsShownByEither(t *testing.T) {
	outcome := func(kind string) *misstepv1.Outcome {
		o := sim.Mismatch("Bug")(&misstepv1.Recipe{}, rand.New(rand.NewPCG(1, 1)))
		o.Mismatches[0].Kind = kind
		return o
	}
	of := func(kind string) triage.Hit {
		hits := triage.Triage(outcome(kind))
		require.Len(t, hits, 1)
		return hits[0]
	}
	finding := &misstepv1.Finding{Id: of("truncated").ID, Signature: of("truncated").Signature, Aliases: []string{of("wrong-bci").ID}}
	seen := replayResult{Others: map[string]int{}}
	for _, kind := range []string{"truncated", "wrong-bci", "duplicate"} {
		seen.count(outcome(kind), asShown(finding, outcome(kind)))
	}
	assert.Equal(t, 2, seen.Hits)
	assert.Equal(t, map[string]int{of("duplicate").ID: 1}, seen.Others)
}
