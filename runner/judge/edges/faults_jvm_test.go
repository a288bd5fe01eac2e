package edges

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/runner/recording"
)

// fault changes a stack at the frame with that index.
type fault struct {
	name  string
	apply func(random *rand.Rand, stacks []*recording.Stack, frames []recording.Frame, at int) []recording.Frame
	// blind reports whether every edge stays possible, so that the fault cannot be noticed; nil: always.
	blind func(changed, frames []recording.Frame, at int) bool
	// below is added to at for the caller of the new edge.
	below int
	// least share of the other faults that must be noticed, in percent.
	least float64
}

// The frame at which a fault is applied has others below and above it. Random methods and bytecode indices may be the right ones.
var faults = []fault{
	{"top frame dropped", func(_ *rand.Rand, _ []*recording.Stack, frames []recording.Frame, _ int) []recording.Frame {
		return frames[1:]
	}, nil, 0, 0},
	{"bottom frame dropped", func(_ *rand.Rand, _ []*recording.Stack, frames []recording.Frame, _ int) []recording.Frame {
		return frames[:len(frames)-1]
	}, nil, 0, 0},
	{"middle frame dropped", func(_ *rand.Rand, _ []*recording.Stack, frames []recording.Frame, at int) []recording.Frame {
		return append(slices.Clone(frames[:at]), frames[at+1:]...)
	}, callsAlike, 0, 99},
	{"middle frame doubled", func(_ *rand.Rand, _ []*recording.Stack, frames []recording.Frame, at int) []recording.Frame {
		return slices.Insert(slices.Clone(frames), at, frames[at])
	}, callsAlike, 1, 99},
	{"two frames swapped", func(_ *rand.Rand, _ []*recording.Stack, frames []recording.Frame, at int) []recording.Frame {
		frames = slices.Clone(frames)
		frames[at], frames[at+1] = frames[at+1], frames[at]
		return frames
	}, func(_, frames []recording.Frame, at int) bool {
		return callsAlike(nil, frames, at) && (alike(frames[at], frames[at+1]) || callsAlike(nil, frames, at+1))
	}, 0, 99},
	{"wrong method", func(random *rand.Rand, stacks []*recording.Stack, frames []recording.Frame, at int) []recording.Frame {
		other := stacks[random.IntN(len(stacks))].Frames
		frames = slices.Clone(frames)
		frames[at].Method = other[random.IntN(len(other))].Method
		return frames
	}, func(changed, frames []recording.Frame, at int) bool { return alike(changed[at], frames[at]) }, 0, 99},
	{"wrong bci", func(random *rand.Rand, _ []*recording.Stack, frames []recording.Frame, at int) []recording.Frame {
		frames = slices.Clone(frames)
		frames[at].BCI += 1 + int32(random.IntN(12))
		return frames
	}, func(_, _ []recording.Frame, _ int) bool { return false }, 0, 98},
	{"another stack's lower half", func(r *rand.Rand, stacks []*recording.Stack, frames []recording.Frame, at int) []recording.Frame {
		other := stacks[r.IntN(len(stacks))].Frames
		return append(slices.Clone(frames[:at]), other[len(other)/2:]...)
	}, func(changed, frames []recording.Frame, at int) bool { return alike(changed[at], frames[at]) }, 0, 98},
}

// callsAlike reports whether the frame calls its own method or another one of the name: a recursion, or an override that delegates.
func callsAlike(_, frames []recording.Frame, at int) bool { return alike(frames[at], frames[at-1]) }

func alike(a, b recording.Frame) bool {
	return a.Method.Name == b.Method.Name && a.Method.Descriptor == b.Method.Descriptor
}

// tolerates reports whether a rule permits one of the new edges, from the frame at the fault to the one above it, whatever the
// bytecode is: the VM may call such a method from nearly every instruction, linkers stand above the site of a method handle, and an
// unknown version of a redefined class may run.
func (j *Judge) tolerates(frames []recording.Frame, at int) bool {
	linker := strings.HasPrefix(frames[at-1].Method.Class, invokers)
	return slices.ContainsFunc(j.methodOf(frames[at-1].Method).versions, func(v *version) bool { return v.upcall != 0 }) ||
		slices.ContainsFunc(j.methodOf(frames[at].Method).versions, func(v *version) bool {
			t := v.at(frames[at].BCI).target
			return v.class.redefined || linker && t != nil && t.polymorphic
		})
}

// requireFaultsSeen asserts which share of faults is noticed. Stacks are taken once each; every edge of theirs is decided: none has
// a native caller, which may call anything.
func requireFaultsSeen(t *testing.T, r trial, profiler string) {
	t.Helper()
	j := New(r.program, profiler, "", 1)
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
	for _, f := range faults {
		const tries = 20_000
		all, visible, noticed := 0, 0, 0
		for range tries {
			frames := stacks[random.IntN(len(stacks))].Frames
			at := 1 + random.IntN(len(frames)-2)
			changed := f.apply(random, stacks, frames, at)
			sees := j.judge(&recording.Stack{Frames: changed}).edges[Nothing] > 0
			if sees {
				all++
			}
			if f.blind == nil || f.blind(changed, frames, at) || j.tolerates(changed, at+f.below) {
				continue
			}
			visible++
			if sees {
				noticed++
			}
		}
		t.Logf("%s: noticed %.2f %% of all, %.2f %% of the %d that are visible", f.name, 100*float64(all)/tries,
			100*float64(noticed)/float64(max(1, visible)), visible)
		if f.blind == nil {
			assert.Zero(t, all, "%s: it is noticed, contrary to what is documented", f.name)
			continue
		}
		require.Greater(t, visible, tries/4, f.name)
		assert.GreaterOrEqual(t, 100*float64(noticed)/float64(visible), f.least, f.name)
	}
}
