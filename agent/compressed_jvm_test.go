package agent

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// C2's intrinsic for StringUTF16.compress pushes the length until it ends (HotSpot: char_array_compress in
// cpu/x86/macroAssembler_x86.cpp of 9 to 20). The walker finds a compiled frame's caller by the frame's size.
func TestTheCompressionOfAStringHidesTheCaller(t *testing.T) {
	for _, j := range features(t) {
		t.Run(j.String(), func(t *testing.T) {
			require.Less(t, lost(t, j, 0, nil, "Compressed", "sum"), 0.1)
			switch {
			case j.feature >= 9 && j.feature <= 20:
				require.Greater(t, lost(t, j, 0.25, nil, "Compressed", "compress"), 0.25)
			case j.feature > 20:
				require.Less(t, lost(t, j, 0, nil, "Compressed", "compress"), 0.1)
			}
		})
	}
}
