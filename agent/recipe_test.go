package agent

import (
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
