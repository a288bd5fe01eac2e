package triage

import (
	"testing"

	"github.com/stretchr/testify/require"

	misstepv1 "misstep/proto/misstep/v1"
)

// gapped is a trace of three frames and gaps of two frames before the given ones.
func gapped(before ...uint32) *misstepv1.Trace {
	t := &misstepv1.Trace{Frames: []*misstepv1.Frame{{}, {}, {}}}
	for _, at := range before {
		t.LeftOut = append(t.LeftOut, &misstepv1.FramesLeftOut{Before: at, Frames: 2})
	}
	return t
}

func TestTooDeep(t *testing.T) {
	deep := gapped(1)
	deep.LeftOut[0].Frames = MaxFrames - 2
	empty := gapped(1)
	empty.LeftOut[0].Frames = 0
	for what, c := range map[string]struct {
		trace *misstepv1.Trace
		bad   bool
	}{
		"without gaps": {gapped(), false}, "in order, at both ends": {gapped(0, 1, 3), false},
		"out of order": {gapped(2, 1), true}, "below the bottom": {gapped(4), true},
		"too many": {gapped(make([]uint32, maxGaps+1)...), true}, "too deep": {deep, true}, "empty": {empty, true},
	} {
		require.Equal(t, c.bad, tooDeep(c.trace), what)
	}
}
