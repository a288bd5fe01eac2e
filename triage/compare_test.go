package triage

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	misstepv1 "misstep/proto/misstep/v1"
)

// stacksOf returns all stacks of at most so many frames of some methods, by class and descriptor.
func stacksOf(most int, methods [][2]string) []stack {
	names := newNamer()
	all := []stack{{}}
	for from, n := 0, 0; n < most; n++ {
		to := len(all)
		for _, s := range all[from:to] {
			for _, m := range methods {
				f := names.frame(&misstepv1.Frame{ClassName: m[0], Method: "m", Descriptor_: m[1]})
				all = append(all, append(slices.Clip(s), f))
			}
		}
		from = to
	}
	return all
}

// In each pair of short stacks the frames above a place are those that a comparison of each with each finds.
func TestFramesAlikeAboveAPlace(t *testing.T) {
	for _, methods := range [][][2]string{
		{{"a.A", "()V"}, {"a.A", "()I"}, {"a.B", "()V"}},
		{{"a.A", ""}, {"a.B", "()V"}, {"a.B", "()I"}}, // none of the one has a descriptor
		{{"a.A", ""}, {"a.A", "()I"}, {"a.B", ""}},
	} {
		all := stacksOf(4, methods)
		for _, ref := range all {
			for _, sus := range all {
				scores := alikeAbove(ref, sus)
				require.Len(t, scores, len(ref))
				for j := range ref {
					score := 0
					for a, b := j, len(sus)-1; a >= 0 && b >= 0 && ref[a].same(sus[b]); a, b = a-1, b-1 {
						score++
					}
					require.Equal(t, score, scores[j], "%v %v at %d", ref, sus, j)
				}
			}
		}
	}
}
