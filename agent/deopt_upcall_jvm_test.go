package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An uncommon trap for a class that is not loaded yet loads it in the middle of the deoptimisation (HotSpot:
// Deoptimization::load_class_by_index). The class loader's Java code runs while AsyncGetCallTrace refuses with -9, which is no wrong
// code there.
func TestAClassLoadedWithinADeoptimisation(t *testing.T) {
	for _, j := range jvms(t) {
		t.Run(j.String(), func(t *testing.T) {
			met := map[string]uint64{"gst-asgct": 0, "asgct-shadow": 0}
			for seed := uint64(1); seed <= 10 && (met["gst-asgct"] == 0 || met["asgct-shadow"] == 0); seed++ { // half a second each: few samples where the machine is busy
				r := run(t, j, Options{Seed: seed, Include: []string{"DeoptUpcall*"}, Checks: allChecks(0.05), Interval: time.Millisecond},
					[]string{"-Xcomp", "-XX:-TieredCompilation", "-XX:CompileCommand=quiet", "-XX:CompileCommand=compileonly,DeoptUpcall*::*"}, "DeoptUpcall")
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
