package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGoalsOfChecks(t *testing.T) {
	for _, g := range checkGoals(nil) {
		assert.False(t, g.Met(), "%s: nothing was measured", g.Name)
	}
	goals := checkGoals([]checking{
		{Bytes: 1e9, CPU: 10 * time.Second, Memory: 100 << 20}, {Bytes: 1e9, CPU: 25 * time.Second, Memory: 600 << 20},
	})
	assert.InDelta(t, 40, goals[0].Measured, 1e-9, "of the slowest")
	assert.False(t, goals[0].Met())
	assert.InDelta(t, 600, goals[1].Measured, 1e-9, "of the largest")
	assert.False(t, goals[1].Met())
	assert.Len(t, checkTables([]checking{{}, {}})[0].Rows, 2)
}

func TestRepeatedRecording(t *testing.T) {
	path, err := repeated(filepath.Join(t.TempDir(), "long"), [][]byte{[]byte("abc"), []byte("de")}, 9)
	require.NoError(t, err)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "abcdeabcde", string(data), "whole parts only")
}

func TestOwnMemory(t *testing.T) {
	peak, err := ownPeak()
	require.NoError(t, err)
	assert.Greater(t, peak, int64(1<<20))
	assert.Positive(t, ownCPU())
}
