package main

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFlatnessComparesCellsOfAGroup(t *testing.T) {
	cells := []cell{
		{Runners: 100, PerSecond: 50},
		{Runners: 100, PerSecond: 40},
		{Runners: 1000, PerSecond: 900},
		{Runners: 1000, PerSecond: 1000},
		{Runners: 10_000, PerSecond: 1},
	}
	assert.InDelta(t, 0.8, flatness(cells, func(c cell) string { return fmt.Sprint(c.Runners) }), 1e-9)
	assert.True(t, math.IsNaN(flatness(cells[4:], func(c cell) string { return fmt.Sprint(c.Runners) })))
}
