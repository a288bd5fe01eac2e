package jfrcheck

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/runner/recording"
)

func having(samples map[string]uint64) *profiles {
	p := &profiles{of: map[string]*profile{}}
	for event, n := range samples {
		p.of[event] = &profile{usable: n}
	}
	return p
}

func TestChoiceOfTheSamplers(t *testing.T) {
	const java, cpu, native, wall = "jdk.ExecutionSample", "jdk.CPUTimeSample", nativeEvent, "profiler.WallClockSample"
	old, recent := having(map[string]uint64{java: 70, native: 350}), having(map[string]uint64{java: 160, cpu: 180, native: 235})
	async, idle := having(map[string]uint64{java: 490, wall: 900}), having(map[string]uint64{native: 12})
	for name, c := range map[string]struct {
		a, b             *profiles
		eventA, eventB   string
		chosenA, chosenB string
	}{
		"more samples of threads that wait": {old, old, "", "", java, java},
		"the one of which both have most":   {recent, recent, "", "", cpu, cpu},
		"one that both have":                {recent, async, "", "", java, java},
		"nothing else in common":            {old, idle, "", "", native, native},
		"nothing in common":                 {async, idle, "", "", wall, native},
		"named":                             {recent, old, cpu, java, cpu, java},
		"one is named, both have it":        {recent, old, native, "", native, native},
		"one is named, the other lacks it":  {recent, old, cpu, "", cpu, java},
		"the other is named":                {old, recent, "", java, java, java},
		"no samples":                        {having(nil), old, "", "", "", java},
	} {
		a, b := chooseEvents(c.a, c.b, c.eventA, c.eventB)
		assert.Equal(t, c.chosenA, a, name)
		assert.Equal(t, c.chosenB, b, name)
	}
	_, err := old.get(cpu)
	require.EqualError(t, err, "it has no samples with a stack trace of jdk.CPUTimeSample, but of jdk.ExecutionSample, "+
		"jdk.NativeMethodSample")
	_, err = having(nil).get("")
	require.ErrorContains(t, err, "it has no samples with a stack trace: compared are those of ")
}

func TestSamplersWithoutOneInCommon(t *testing.T) {
	a, b := phases(1, 200, 1, 1), phases(1, 200, 1, 1)
	for _, e := range b[1:] {
		e.(*recording.Event).Type = "jdk.CPUTimeSample"
	}
	assert.Contains(t, diff(t, a, b).Notes[0], "no sampler in common")
	assert.Empty(t, diff(t, a, a).Notes)
}
