package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A bound virtual thread is a platform thread for which the JVM posts neither ThreadStart nor ThreadEnd: its slot is nevertheless
// released.
func TestBoundVirtualThreadsReleaseTheirSlots(t *testing.T) {
	for _, j := range jvms(t) {
		if j.feature < 21 {
			continue
		}
		r := run(t, j, Options{Seed: 1, Checks: allChecks(0.01), Interval: time.Millisecond},
			[]string{"-XX:+UnlockExperimentalVMOptions", "-XX:-VMContinuations"}, "Virtual", "3", "run")
		requireSound(t, r)
		require.Zero(t, r.check("shadow-gst").Mismatch, "%+v", r.mismatches)
		require.Regexp(t, `virtual: verified \d{4,} threads`, r.output)
		require.Less(t, len(r.status.Threads), 500, "100 virtual threads at a time")
		require.NotZero(t, r.check("asgct-shadow").Match)
		return
	}
	t.Skip("no JDK 21 or later below /usr/lib/jvm")
}
