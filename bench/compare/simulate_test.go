package main

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/compare"
	"misstep/internal/paired"
)

func realPool(t *testing.T) pool {
	t.Helper()
	all, err := compare.ReadTrials(bytes.NewReader(trials))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(all), 40)
	p := newPool(all)
	require.GreaterOrEqual(t, len(p.recipes), 5)
	return p
}

// A small version of the benchmark: two equal builds, drawn from real trials, are called different in at most 5 % of comparisons.
func TestEqualBuildsAreSeldomCalledDifferent(t *testing.T) {
	p := realPool(t)
	assert.LessOrEqual(t, p.falseAlarms(rand.New(rand.NewPCG(48, 10)), 1000, 10), 50)
}

// A change of 1.5 times of the samples that are lost is found in ten pairs, and the opposite change is an improvement.
func TestPlantedChangeIsFound(t *testing.T) {
	p, c := realPool(t), change{"asgct-shadow", "lost"}
	found := p.found(rand.New(rand.NewPCG(48, 2)), 10, 10, c, 1.5)
	assert.GreaterOrEqual(t, found[paired.Worse], 9, "%v", found)
	assert.Zero(t, found[paired.Better]+found[paired.Same])
	found = p.found(rand.New(rand.NewPCG(48, 3)), 10, 10, c, 1)
	assert.LessOrEqual(t, found[paired.Worse]+found[paired.Better], 1, "nothing is planted: %v", found)
}

// The planted change does not touch the pool.
func TestPlantLeavesThePool(t *testing.T) {
	p := realPool(t)
	random := rand.New(rand.NewPCG(48, 4))
	before, err := json.Marshal(p.trials)
	require.NoError(t, err)
	for _, c := range p.changes(leastTrials) {
		c.plant(random, p.draw(random, 20), 3)
	}
	after, err := json.Marshal(p.trials)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(before, after))
}
