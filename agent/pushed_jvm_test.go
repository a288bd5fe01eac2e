package agent

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// C1 pushes two words around its call of the stub that checks a type by the list of a class's interfaces (HotSpot:
// c1_LIRAssembler_x86.cpp, emit_typecheck_helper; also in the checks of an array copy). The walker finds a compiled frame's caller
// by the frame's size and does not account for these words: most samples of code that checks for alternating interfaces are -5.
// Where the secondary super cache answers (before 23) none is.
func TestWordsThatC1PushesHideTheCaller(t *testing.T) {
	compileByC1 := []string{"-XX:TieredStopAtLevel=1"}
	for _, j := range jvms(t) {
		require.Greater(t, lost(t, j, 0.25, compileByC1, "Pushed", "other"), 0.25)
		if j.feature < 23 {
			require.Less(t, lost(t, j, 0, compileByC1, "Pushed", "same"), 0.1)
		}
	}
}

// lost returns the share of a program's samples that are -5; the program prints its lowercase name when its results are right. It
// runs until there are some samples and the share is above one that is expected once all is compiled.
func lost(t *testing.T, j jvm, expected float64, flags []string, program, mode string) float64 {
	t.Helper()
	share := func(c CheckCount) float64 { return float64(c.Unwalkable[-5]) / float64(max(c.Total, 1)) }
	o := Options{
		Seed: 1, Include: []string{program + "*"}, Checks: map[string]float64{"asgct-shadow": 1}, Interval: time.Millisecond,
	}
	r := runUntil(t, built(t), j, o, func(r result) bool {
		c := r.check("asgct-shadow")
		return c.Total > 300 && share(c) >= expected*1.1
	}, flags, program, mode, spent)
	requireSound(t, r)
	require.Contains(t, r.output, strings.ToLower(program)+": verified")
	c := r.check("asgct-shadow")
	require.Greater(t, c.Total, uint64(300))
	t.Logf("%v, %s: %.3f of %d samples are -5, %d mismatches", j, mode, share(c), c.Total, c.Mismatch)
	return share(c)
}
