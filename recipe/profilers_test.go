package recipe_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

func TestTheTableOfProfilers(t *testing.T) {
	judged := map[string]bool{}
	for _, c := range recipe.Checks() {
		for _, name := range c.Profilers {
			_, ok := recipe.FindProfiler(name)
			assert.True(t, ok, "%s: unknown profiler %s", c.Name, name)
			judged[name] = true
		}
		if c.Tap {
			assert.True(t, c.Slot == recipe.NoSlot && c.Methods && len(c.Profilers) > 0, c.Name)
		}
		assert.Equal(t, c.Slot == recipe.NoSlot, len(c.Profilers) > 0, "%s: what else is judged after the trial?", c.Name)
	}
	for _, p := range recipe.Profilers() {
		assert.True(t, judged[p.Name], "no check judges recordings of %s", p.Name)
		assert.NotEmpty(t, p.Meaning+p.Source, p.Name)
		assert.NotContains(t, p.Signals, recipe.AgentSignalBesideProfiler)
	}
	_, ok := recipe.FindProfiler(recipe.ProfilerNone)
	assert.False(t, ok)
}

// The agent is loaded for a check that compares with its shadow, and only for the part that it has in the check.
func TestWhatChecksOfRecordingsNeed(t *testing.T) {
	for _, c := range recipe.Checks() {
		list := []*misstepv1.Check{{Name: c.Name}}
		shadow := slices.Contains([]string{recipe.JfrShadow, recipe.ProfilerShadow}, c.Name)
		assert.Equal(t, c.Slot != recipe.NoSlot || shadow, recipe.NeedsAgent(list), c.Name)
		assert.Equal(t, shadow, recipe.NeedsTap(list), c.Name)
		if shadow {
			assert.True(t, recipe.NeedsMethods(list), c.Name)
			assert.False(t, recipe.NeedsSignals(list), c.Name)
		}
	}
}

func TestTheSignalBesideAProfiler(t *testing.T) {
	jfr := &misstepv1.Profiler{Name: recipe.ProfilerJFR}
	for want, r := range map[string]*misstepv1.Recipe{
		"":                               {Profiler: &misstepv1.Profiler{Name: recipe.ProfilerNone}},
		"SIGVTALRM":                      {Sampling: &misstepv1.Sampling{Signal: "SIGVTALRM"}, Profiler: jfr},
		recipe.AgentSignalBesideProfiler: {Sampling: recipe.DefaultSampling(), Profiler: jfr},
	} {
		assert.Equal(t, want, recipe.AgentSignal(r))
	}
}

// A check that judges the agent's traces has none where only a recording is judged.
func TestChecksThatFitAProfiler(t *testing.T) {
	fitting := func(profiler string, instrumentation *misstepv1.Instrumentation) []string {
		r := &misstepv1.Recipe{Profiler: &misstepv1.Profiler{Name: profiler}, Instrumentation: instrumentation}
		var list []string
		for _, c := range recipe.FittingChecks(r) {
			list = append(list, c.GetName())
		}
		return list
	}
	none := &misstepv1.Instrumentation{}
	require.Equal(t, []string{"liveness"}, fitting(recipe.ProfilerNone, none))
	require.Equal(t, []string{"liveness", "samplers", "jfr-chunks", "event-edges"}, fitting(recipe.ProfilerJFR, none))
	require.Equal(t, []string{"liveness", "samplers", "event-edges"}, fitting(recipe.ProfilerAsync, none))
	require.Equal(t, []string{"gst-asgct", "shadow-gst", "edges", "liveness", "jfr-shadow", "samplers", "jfr-chunks", "event-edges"},
		fitting(recipe.ProfilerJFR, nil))
	require.Equal(t, []string{"gst-asgct", "shadow-gst", "edges", "liveness", "profiler-shadow", "samplers", "event-edges"},
		fitting(recipe.ProfilerAsync, nil))
}
