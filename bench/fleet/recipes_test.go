package main

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/coordinator/campaign"
	"misstep/coordinator/plausible"
	"misstep/runner/sim/fleet"
	"misstep/triage"
)

// The outcomes are such as trials of the campaign give, and one in fifty shows a finding.
func TestTrialsOfAHunt(t *testing.T) {
	e, err := campaign.NewExpansion(huntSubmission(1000))
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	hits := 0
	const n = 2000
	for i := range uint64(n) {
		r := e.Recipe(i%e.Size(), i)
		require.Len(t, r.GetChecks(), 5)
		o := fleet.Hunt(r, random)
		require.NoError(t, plausible.Outcome(o, r))
		require.NoError(t, plausible.Digest(o, r))
		hits += min(1, len(triage.Triage(o)))
	}
	assert.InDelta(t, n/50, hits, 20)
}

func TestRecipesAreComparedByMedians(t *testing.T) {
	r := &results{options: options{parts: partRecipes, before: "program"}}
	add := func(store, trials string, before bool, rates ...float64) {
		for _, rate := range rates {
			r.Cells = append(r.Cells, cell{
				Store: store, Trials: trials, Before: before, PerSecond: rate, CPU: time.Duration(float64(time.Second) / rate),
			})
		}
	}
	add("sqlite", trialsSynthetic, false, 1, 2, 3)
	add("sqlite", trialsOfHunt, true, 100, 1000, 300)
	add("sqlite", trialsOfHunt, false, 500, 480, 1)
	goals := r.goals()
	require.Len(t, goals, 2)
	assert.InDelta(t, 1.6, goals[0].Measured, 1e-9)
	assert.True(t, goals[0].Met() && goals[1].Met())
	add("postgres", trialsOfHunt, true, 100)
	add("postgres", trialsOfHunt, false, 240)
	goals = r.goals()
	require.Len(t, goals, 5)
	assert.InDelta(t, 0.5, goals[4].Measured, 1e-9)
	assert.False(t, goals[4].Met())
	assert.True(t, math.IsNaN(median(nil)))
}
