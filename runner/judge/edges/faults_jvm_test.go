package edges

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/runner/judge/altered"
	"misstep/runner/recording"
)

// least is the share of the visible faults of a class that must be noticed, in percent; none for those that are never visible.
var least = map[string]float64{
	altered.MiddleDropped: 99, altered.Doubled: 99, altered.Exchanged: 99, altered.WrongMethod: 99, altered.WrongBCI: 98,
	altered.LowerHalf: 98,
}

// requireFaultsSeen asserts which share of faults is noticed. Stacks are taken once each; every edge of theirs is decided: none has
// a native caller, which may call anything.
func requireFaultsSeen(t *testing.T, r trial, profiler string) {
	t.Helper()
	j := New(Input{Program: r.program, Profiler: profiler, Feature: r.feature, Limit: 1})
	var stacks []*recording.Stack
	seen := map[string]bool{}
	for _, e := range r.events() {
		v := j.judge(e.Stack)
		text := fmt.Sprint(v.frames)
		if len(v.frames) == len(e.Stack.Frames) && len(v.frames) >= 4 && v.weakest <= Upcall && !seen[text] {
			seen[text] = true
			stacks = append(stacks, e.Stack)
		}
	}
	require.Greater(t, len(stacks), 100)
	random := rand.New(rand.NewPCG(1, 2))
	for _, f := range altered.Faults {
		const tries = 20_000
		all, visible, noticed := 0, 0, 0
		for range tries {
			frames := stacks[random.IntN(len(stacks))].Frames
			at := 1 + random.IntN(len(frames)-2)
			other := func() []recording.Frame { return stacks[random.IntN(len(stacks))].Frames }
			changed := f.Apply(random, other, frames, at)
			sees := j.judge(&recording.Stack{Frames: changed}).edges[Nothing] > 0
			if sees {
				all++
			}
			if j.Blind(f.Class, changed, frames, at) {
				continue
			}
			visible++
			if sees {
				noticed++
			}
		}
		t.Logf("%s: noticed %.2f %% of all, %.2f %% of the %d that are visible", f.Class, 100*float64(all)/tries,
			100*float64(noticed)/float64(max(1, visible)), visible)
		if least[f.Class] == 0 {
			assert.Zero(t, all, "%s: it is noticed, contrary to what is documented", f.Class)
			continue
		}
		require.Greater(t, visible, tries/4, f.Class)
		assert.GreaterOrEqual(t, 100*float64(noticed)/float64(visible), least[f.Class], f.Class)
	}
}
