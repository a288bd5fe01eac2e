package jvm

import (
	"testing"

	"github.com/stretchr/testify/assert"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// What AsyncGetCallTrace's walk reports of a caller is true of a recording's trace if thread, callee and caller are the same.
func TestADeoptimisedCallerIsTheSameForAllWalkers(t *testing.T) {
	frames := func(names ...string) (all []*misstepv1.Frame) {
		for _, name := range names {
			all = append(all, &misstepv1.Frame{ClassName: "a.B", Method: name, Descriptor_: "()V"})
		}
		return all
	}
	walk := &misstepv1.Mismatch{
		Check: recipe.AsgctShadow, Kind: "truncated", Tid: 7, Suspect: &misstepv1.Trace{Frames: frames("top", "callee")},
		DeoptimisedCaller: frames("caller")[0],
	}
	of := func(check, kind string, tid int64, divergence uint32, names ...string) *misstepv1.Mismatch {
		return &misstepv1.Mismatch{
			Check: check, Kind: kind, Tid: tid, Divergence: divergence, Suspect: &misstepv1.Trace{Frames: frames(names...)},
		}
	}
	for name, c := range map[string]struct {
		m     *misstepv1.Mismatch
		noted bool
	}{
		"a trace that ends there":     {of(recipe.JfrShadow, "truncated", 7, 1, "other", "callee"), true},
		"on another thread":           {of(recipe.JfrShadow, "truncated", 8, 1, "other", "callee"), false},
		"at another method":           {of(recipe.JfrShadow, "truncated", 7, 1, "callee", "other"), false},
		"with another kind":           {of(recipe.ProfilerShadow, "missing", 7, 1, "other", "callee"), false},
		"an edge below the callee":    {of(recipe.EventEdges, "impossible-edge", 7, 2, "top", "callee", "caller", "main"), true},
		"from code inlined there":     {of(recipe.EventEdges, "impossible-edge", 7, 3, "callee", "inlined", "caller", "main"), true},
		"from another caller":         {of(recipe.EventEdges, "impossible-edge", 7, 2, "top", "callee", "other", "main"), false},
		"an edge above it":            {of(recipe.EventEdges, "impossible-edge", 7, 3, "top", "callee", "caller", "main"), false},
		"a walk of the agent's own":   {of(recipe.AsgctShadow, "truncated", 7, 1, "other", "callee"), false},
		"an edge deeper than a stack": {of(recipe.EventEdges, "impossible-edge", 7, 9, "top", "callee", "caller"), false},
		"a trace without frames":      {of(recipe.ProfilerShadow, "truncated", 7, 0), false},
	} {
		noteDeoptimised([]*misstepv1.Mismatch{c.m, walk})
		assert.Equal(t, c.noted, c.m.GetDeoptimisedCaller() != nil, name)
	}
}
