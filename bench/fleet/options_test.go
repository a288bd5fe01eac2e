package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOptions(t *testing.T) {
	read := func(env map[string]string) (options, error) {
		return readOptions(func(name string) string { return env[name] })
	}
	o, err := read(map[string]string{
		"BUDGET": "3m", "STORES": "postgres,sqlite", "RUNNERS": "1000,100", "STORED": "1e6", "OBSERVED": "no",
		"GUARDED": "no",
	})
	require.NoError(t, err)
	assert.Equal(t, options{
		budget: 3 * time.Minute, stores: []string{"postgres", "sqlite"}, fleets: []int{100, 1000}, narrowed: true,
		stocks: []int{1_000_000},
	}, o)
	o, err = read(nil)
	require.NoError(t, err)
	assert.Equal(t, []int{0, 100_000, 1_000_000, 10_000_000}, o.stocks)
	assert.True(t, o.observed && o.guarded && o.measures(partStorms))
	o.parts = "cells,recipes"
	assert.True(t, o.measures(partRecipes))
	assert.False(t, o.measures(partStorms))
	for name, value := range map[string]string{"BUDGET": "x", "STORES": "mysql", "RUNNERS": "0", "STORED": "many"} {
		_, err := read(map[string]string{name: value})
		require.ErrorContains(t, err, name+"="+value)
	}
}
