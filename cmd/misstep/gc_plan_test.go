package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A coordinator that has its store for itself removes what nothing refers to, unless it is told not to.
func TestWhenACoordinatorCollectsGarbage(t *testing.T) {
	month := retentionFlags{KeepTrials: 30 * 24 * time.Hour}
	for name, c := range map[string]struct {
		command coordinatorCommand
		every   time.Duration
		err     string
	}{
		"by default":                {coordinatorCommand{}, 6 * time.Hour, ""},
		"as often as told":          {coordinatorCommand{GCEvery: time.Hour}, time.Hour, ""},
		"not at all":                {coordinatorCommand{NoGC: true}, 0, ""},
		"a store for several":       {coordinatorCommand{Store: "postgres://h/d"}, 0, ""},
		"one of several":            {coordinatorCommand{Store: "postgres://h/d", GCEvery: time.Hour}, time.Hour, ""},
		"by rules":                  {coordinatorCommand{retentionFlags: month}, 6 * time.Hour, ""},
		"both":                      {coordinatorCommand{NoGC: true, GCEvery: time.Hour}, 0, "exclude each other"},
		"rules without rounds":      {coordinatorCommand{NoGC: true, retentionFlags: month}, 0, "need --gc-every"},
		"rules, but not whose turn": {coordinatorCommand{Store: "postgres://h/d", retentionFlags: month}, 0, "need --gc-every"},
	} {
		plan, err := c.command.plan()
		if c.err != "" {
			require.ErrorContains(t, err, c.err, name)
			continue
		}
		require.NoError(t, err, name)
		assert.Equal(t, c.every, plan.Every, name)
	}
}
