package agent

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// A profiler is tapped for the checks that compare its samples with the shadow, and for no others.
func TestTapOfARecipe(t *testing.T) {
	for _, c := range []struct{ profiler, check, want string }{
		{recipe.ProfilerJFR, recipe.JfrShadow, "both"},
		{recipe.ProfilerAsync, recipe.ProfilerShadow, "prof"},
		{recipe.ProfilerJFR, recipe.JfrChunks, ""},
		{recipe.ProfilerAsync, recipe.EventEdges, ""},
		{"", recipe.GstAsgct, ""},
	} {
		r := &misstepv1.Recipe{
			Profiler: &misstepv1.Profiler{Name: c.profiler}, Checks: []*misstepv1.Check{{Name: recipe.Liveness}, {Name: c.check}},
		}
		o := OptionsOf(r, "/o")
		assert.Equal(t, c.want, o.Tap, c)
		assert.Equal(t, c.check == recipe.EventEdges, o.Sites, c)
		assert.Equal(t, c.want != "" || c.check == recipe.GstAsgct, o.NeedsMethods(), c)
	}
	for _, p := range recipe.Profilers() {
		assert.NotEmpty(t, taps[p.Name], "the signals of %s", p.Name)
	}
}

// The agent is told that JFR records, which instruments classes of its own.
func TestJFRRecords(t *testing.T) {
	for _, c := range []struct {
		r    *misstepv1.Recipe
		want bool
	}{
		{&misstepv1.Recipe{Profiler: &misstepv1.Profiler{Name: recipe.ProfilerJFR}}, true},
		{&misstepv1.Recipe{Profiler: &misstepv1.Profiler{Name: recipe.ProfilerAsync}}, false},
		{&misstepv1.Recipe{JvmFlags: []string{"-Xint", "-XX:StartFlightRecording:settings=profile"}}, true},
		{&misstepv1.Recipe{JvmFlags: []string{"-Xint"}}, false},
	} {
		c.r.Checks = []*misstepv1.Check{{Name: recipe.AsgctShadow}}
		o := OptionsOf(c.r, "/o")
		assert.Equal(t, c.want, o.JFR, c.r)
		assert.Equal(t, c.want, strings.Contains(o.String(), ",jfr=1"), o)
		o.Checks, o.Tap, o.Stacks = map[string]float64{recipe.Liveness: 1}, "", 0
		assert.NotContains(t, o.String(), "jfr", "nothing is instrumented")
	}
}

func TestLeavesOfARecipe(t *testing.T) {
	r := &misstepv1.Recipe{
		Instrumentation: &misstepv1.Instrumentation{Ratio: 1, WithoutLeaves: true}, Checks: []*misstepv1.Check{{Name: recipe.GstAsgct}},
	}
	assert.Contains(t, OptionsOf(r, "/o").String(), ",methods=1,leaves=0,")
	r.Instrumentation.WithoutLeaves = false
	assert.NotContains(t, OptionsOf(r, "/o").String(), "leaves")
	assert.Error(t, Options{Out: "/o", Only: []string{"a/B.c()V"}, WithoutLeaves: true}.validate())
}
