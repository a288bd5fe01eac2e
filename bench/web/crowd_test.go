package main

import (
	"math"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/station"
)

// People who follow what happens see changes, and runners work beside them.
func TestCrowd(t *testing.T) {
	place := station.Place{Dir: t.TempDir()}
	require.NoError(t, prepare(t.Context(), place, 500, 20))
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skipf("no Chromium: %v; deploy/setup/install.sh test installs it", err)
	}
	rows, pages, err := measurePages(t.Context(), place, 30, 3, 1)
	require.NoError(t, err)
	require.Len(t, pages, len(pagesOf()))
	for _, s := range pages {
		assert.Positive(t, s.Largest, s.Page)
	}
	assert.Len(t, rows, len(pagesOf()))
	fleet := rows[len(rows)-2]
	assert.Equal(t, "/fleet", fleet.Page)
	assert.Greater(t, fleet.Bytes, 30*100, "each runner has a row")

	c := crowd{viewers: 2 * len(pagesOf()), people: 3, runners: 20, rounds: 1, window: time.Second, pause: 100 * time.Millisecond}
	w, err := c.measure(t.Context(), place)
	require.NoError(t, err)
	require.Len(t, w.Turns, 2)
	alone, beside := w.Turns[0], w.Turns[1]
	assert.Zero(t, alone.Viewers)
	assert.Zero(t, alone.Pages)
	assert.Positive(t, alone.Leases)
	assert.Equal(t, c.viewers, beside.Viewers)
	assert.Positive(t, beside.Leases)
	assert.Positive(t, beside.Pages)
	assert.EqualValues(t, 2, w.Changes, "two pages of the finding that changes")
	assert.Zero(t, w.Failed)
	assert.InDelta(t, beside.Leases/alone.Leases, w.left(), 1e-9)
}

// The share that is left is of each round, whatever came first in it.
func TestLeft(t *testing.T) {
	w := watched{Turns: []turn{
		{Leases: 100}, {Viewers: 5, Leases: 90}, {Viewers: 5, Leases: 200}, {Leases: 100}, {Leases: 100}, {Viewers: 5, Leases: 96},
	}}
	assert.InDelta(t, 0.96, w.left(), 1e-9)
	assert.True(t, w.goals()[0].Met())
	w.Turns[5].Leases = 94
	assert.False(t, w.goals()[0].Met())
	assert.True(t, math.IsNaN(watched{}.left()))
}
