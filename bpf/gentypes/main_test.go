package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDeclarationsMatchTheObject(t *testing.T) {
	want, err := declarations("../sched_bpfel.o")
	require.NoError(t, err)
	committed, err := os.ReadFile("../../schedule/intf.go")
	require.NoError(t, err)
	assert.Equal(t, string(want), string(committed), "schedule/intf.go is stale: run go generate ./bpf")
}

func TestIdentifiers(t *testing.T) {
	for c, want := range map[string]string{"delay_min": "DelayMin", "_none": "None", "seed": "Seed"} {
		assert.Equal(t, want, identifier(c))
	}
}
