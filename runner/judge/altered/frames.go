// Package altered alters what a profiler has recorded, before it is judged. Tests and benchmarks thereby know what a check notices.
package altered

import (
	"math/rand/v2"
	"slices"

	"misstep/runner/recording"
)

// Classes of faults in one trace.
const (
	TopDropped    = "top frame dropped"
	MiddleDropped = "middle frame dropped"
	BottomDropped = "bottom frame dropped"
	Doubled       = "middle frame doubled"
	Exchanged     = "two frames swapped"
	WrongMethod   = "wrong method"
	WrongBCI      = "wrong bci"
	WrongLine     = "wrong line"
	LowerHalf     = "another stack's lower half"
	HalfLost      = "the outer half cut off"
	MethodRemoved = "method removed from the constants"
)

// Fault changes one trace.
type Fault struct {
	Class string
	// Apply returns the frames with a fault at the index, which has others above and below it; frames, innermost first, are not
	// changed. other gives a trace of the same recording.
	Apply func(random *rand.Rand, other func() []recording.Frame, frames []recording.Frame, at int) []recording.Frame
}

// Faults are those of one trace. Methods, bytecode indices and lines that are drawn may be the right ones.
var Faults = []Fault{
	{TopDropped, func(_ *rand.Rand, _ func() []recording.Frame, frames []recording.Frame, _ int) []recording.Frame {
		return frames[1:]
	}},
	{BottomDropped, func(_ *rand.Rand, _ func() []recording.Frame, frames []recording.Frame, _ int) []recording.Frame {
		return frames[:len(frames)-1]
	}},
	{MiddleDropped, func(_ *rand.Rand, _ func() []recording.Frame, frames []recording.Frame, at int) []recording.Frame {
		return append(slices.Clone(frames[:at]), frames[at+1:]...)
	}},
	{Doubled, func(_ *rand.Rand, _ func() []recording.Frame, frames []recording.Frame, at int) []recording.Frame {
		return slices.Insert(slices.Clone(frames), at, frames[at])
	}},
	{Exchanged, func(_ *rand.Rand, _ func() []recording.Frame, frames []recording.Frame, at int) []recording.Frame {
		frames = slices.Clone(frames)
		frames[at], frames[at+1] = frames[at+1], frames[at]
		return frames
	}},
	{WrongMethod, func(r *rand.Rand, other func() []recording.Frame, frames []recording.Frame, at int) []recording.Frame {
		from := other()
		frames = slices.Clone(frames)
		frames[at].Method = from[r.IntN(len(from))].Method
		return frames
	}},
	{WrongBCI, func(r *rand.Rand, _ func() []recording.Frame, frames []recording.Frame, at int) []recording.Frame {
		frames = slices.Clone(frames)
		frames[at].BCI += 1 + int32(r.IntN(12))
		return frames
	}},
	{WrongLine, func(r *rand.Rand, _ func() []recording.Frame, frames []recording.Frame, at int) []recording.Frame {
		frames = slices.Clone(frames)
		frames[at].Line += 1 + int32(r.IntN(12))
		return frames
	}},
	{LowerHalf, func(_ *rand.Rand, other func() []recording.Frame, frames []recording.Frame, at int) []recording.Frame {
		from := other()
		return append(slices.Clone(frames[:at]), from[len(from)/2:]...)
	}},
	{HalfLost, func(_ *rand.Rand, _ func() []recording.Frame, frames []recording.Frame, _ int) []recording.Frame {
		return frames[:len(frames)/2]
	}},
	{MethodRemoved, func(_ *rand.Rand, _ func() []recording.Frame, frames []recording.Frame, at int) []recording.Frame {
		frames = slices.Clone(frames)
		frames[at].Method = nil
		return frames
	}},
}

// Alike reports whether two frames are of methods of one name and descriptor: those of a recursion, or of an override that
// delegates.
func Alike(a, b recording.Frame) bool {
	return a.Method != nil && b.Method != nil && a.Method.Name == b.Method.Name && a.Method.Descriptor == b.Method.Descriptor
}
