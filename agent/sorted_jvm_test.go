package agent

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// realigned says that C code has a frame whose return address is a copy: the same one stands a little higher, where the caller left it.
func realigned(t *testing.T, m mismatch) bool {
	t.Helper()
	number := func(s string) uint64 {
		if s == "" {
			return 0
		}
		n, err := strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
		return n
	}
	if at := number(m.ReturnAt); m.TopState == "native" && at != 0 && number(m.Fp)+8 == at && len(m.Stack) > 1 && number(m.Stack[0].At) == at {
		above := number(m.Stack[1].At) - at
		return above <= 64 && m.Stack[1].Code == m.Stack[0].Code
	}
	return false
}

// C code that aligns its stack to 32 or 64 bytes copies its return address next to the saved frame pointer (gcc's DRAP). The walker takes the word above
// the copy for the caller's sp, which it is not, so the walk ends after the compiled frame that called. Since 22 java.util.Arrays.sort is such code with
// AVX-512, since 24 with AVX2 (libsimdsort).
func TestCodeThatAlignsItsStackHidesTheCaller(t *testing.T) {
	cpu, err := os.ReadFile("/proc/cpuinfo")
	require.NoError(t, err)
	if !strings.Contains(string(cpu), " avx2") {
		t.Skip("this processor has no AVX2: sorting is Java code")
	}
	for _, j := range jvms(t) {
		t.Run(j.String(), func(t *testing.T) {
			o := Options{Seed: 1, Include: []string{"Sorted*"}, Checks: map[string]float64{"asgct-shadow": 1}, Interval: 200 * time.Microsecond}
			r := run(t, j, o, nil, "Sorted")
			requireSound(t, r)
			require.Contains(t, r.output, "sorted: verified")
			c := r.check("asgct-shadow")
			hidden := 0
			for _, m := range r.mismatches {
				t.Logf("%s of %s at %s, returns to %s, %d frames", m.Kind, m.Count, m.TopState, m.ReturnState, len(m.Suspect.Frames))
				if realigned(t, m) {
					hidden++
				}
			}
			t.Logf("%d of %d samples are mismatches", c.Mismatch, c.Total)
			require.Equal(t, j.feature >= 24, hidden > 0)
		})
	}
}
