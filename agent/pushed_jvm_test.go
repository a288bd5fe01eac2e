package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// C1 pushes two words around its call of the stub that checks a type by the list of a class's interfaces (HotSpot: c1_LIRAssembler_x86.cpp,
// emit_typecheck_helper; the same in an array copy's checks). The walker finds a compiled frame's caller by the frame's size and does not know of
// the words: most samples of code that asks for interfaces in turn are -5. Where the first look answers (before 23) none is.
func TestWordsThatC1PushesHideTheCaller(t *testing.T) {
	for _, j := range jvms(t) {
		lost := func(mode string) float64 {
			o := Options{Seed: 1, Include: []string{"Pushed*"}, Checks: map[string]float64{"asgct-shadow": 1}, Interval: time.Millisecond}
			r := run(t, j, o, []string{"-XX:TieredStopAtLevel=1"}, "Pushed", mode)
			requireSound(t, r)
			require.Contains(t, r.output, "pushed: verified")
			c := r.check("asgct-shadow")
			require.Greater(t, c.Total, uint64(50))
			share := float64(c.Unwalkable[-5]) / float64(c.Total)
			t.Logf("%v, %s: %.2f of %d samples are -5", j, mode, share, c.Total)
			return share
		}
		require.Greater(t, lost("other"), 0.25)
		if j.feature < 23 {
			require.Less(t, lost("same"), 0.1)
		}
	}
}
