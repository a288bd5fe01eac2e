package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every call is made on each store, which has findings.
func TestReads(t *testing.T) {
	r := results{options: options{stocks: []int{0, 500, 1500}, parts: partReads}}
	require.NoError(t, r.measureReads(t.Context(), filepath.Join(t.TempDir(), "x"), time.Now().Add(time.Hour)))
	require.Len(t, r.Looks, 16)
	assert.EqualValues(t, 500, r.Looks[0].Stored)
	assert.EqualValues(t, 1500, r.Looks[15].Stored)
	for _, l := range r.Looks {
		assert.Positive(t, l.First, l.Call)
		assert.Positive(t, l.Median, l.Call)
	}
	goals := r.goals()
	require.Len(t, goals, 8)
	r.Looks[8].Median, r.Looks[0].Median = 60, 15
	assert.InDelta(t, 4, r.goals()[0].Measured, 1e-9)
	r.Looks[0].Median = 1
	assert.InDelta(t, 12, r.goals()[0].Measured, 1e-9)
	assert.False(t, r.goals()[0].Met())
	assert.Len(t, r.tables(), 1)
}
