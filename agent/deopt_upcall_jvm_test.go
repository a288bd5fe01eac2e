package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An uncommon trap for a class that is not loaded yet loads it in the middle of the deoptimisation (HotSpot:
// Deoptimization::load_class_by_index). While the class loader's Java code runs, AsyncGetCallTrace returns -9, which is correct
// there.
func TestAClassLoadedWithinADeoptimisation(t *testing.T) {
	for _, j := range jvms(t) {
		t.Run(j.String(), func(t *testing.T) {
			met := map[string]uint64{"gst-asgct": 0, "asgct-shadow": 0}
			flags := compiled("DeoptUpcall*::*", "-XX:-TieredCompilation")
			// Half a second each: few samples where the machine is busy.
			for seed := uint64(1); seed <= 10 && (met["gst-asgct"] == 0 || met["asgct-shadow"] == 0); seed++ {
				o := Options{Seed: seed, Include: []string{"DeoptUpcall*"}, Checks: allChecks(0.05), Interval: time.Millisecond}
				r := run(t, j, o, flags, "DeoptUpcall")
				requireSound(t, r)
				require.Contains(t, r.output, "deopt upcall: verified")
				for check := range met {
					c := r.check(check)
					t.Logf("%+v", c)
					met[check] += c.Tolerated["deopt-upcall"]
				}
				for _, m := range r.mismatches {
					require.NotEqual(t, "code", m.Kind, "%+v", m)
				}
			}
			require.NotZero(t, met["gst-asgct"])
			require.NotZero(t, met["asgct-shadow"])
		})
	}
}
