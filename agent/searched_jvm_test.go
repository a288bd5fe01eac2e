package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// C2 looks for a string in another by instructions of its own, which push their arguments and copy short strings onto the stack (HotSpot:
// c2_MacroAssembler_x86.cpp, string_indexof and string_indexofC8). The walker finds a compiled frame's caller by the frame's size.
func TestTheSearchOfAStringHidesTheCaller(t *testing.T) {
	for _, j := range catalogued(t) {
		t.Run(j.String(), func(t *testing.T) {
			lost := func(mode string) float64 {
				o := Options{Seed: 1, Include: []string{"Searched*"}, Checks: map[string]float64{"asgct-shadow": 1}, Interval: time.Millisecond}
				r := run(t, j, o, nil, "Searched", mode)
				requireSound(t, r)
				require.Contains(t, r.output, "searched: verified")
				c := r.check("asgct-shadow")
				require.Greater(t, c.Total, uint64(50))
				share := float64(c.Unwalkable[-5]+c.Mismatch) / float64(c.Total)
				t.Logf("%s: %.3f of %d samples: %d mismatches, %v", mode, share, c.Total, c.Mismatch, c.Unwalkable)
				return share
			}
			require.Less(t, lost("char"), 0.1)
			require.Greater(t, lost("string"), 0.25)
		})
	}
}
