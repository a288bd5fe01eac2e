package agent

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// C2's intrinsic for String.indexOf pushes its arguments and copies short strings onto the stack (HotSpot:
// c2_MacroAssembler_x86.cpp, string_indexof and string_indexofC8). The walker finds a compiled frame's caller by the frame's size.
func TestTheSearchOfAStringHidesTheCaller(t *testing.T) {
	for _, j := range features(t) {
		t.Run(j.String(), func(t *testing.T) {
			require.Less(t, lost(t, j, 0, nil, "Searched", "char"), 0.1)
			require.Greater(t, lost(t, j, 0.25, nil, "Searched", "string"), 0.25)
		})
	}
}
