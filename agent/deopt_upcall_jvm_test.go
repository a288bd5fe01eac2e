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
			r := run(t, j, Options{Seed: 1, Include: []string{"DeoptUpcall*"}, Checks: allChecks(0.05), Interval: time.Millisecond},
				[]string{"-Xcomp", "-XX:-TieredCompilation", "-XX:CompileCommand=quiet", "-XX:CompileCommand=compileonly,DeoptUpcall*::*"}, "DeoptUpcall")
			requireSound(t, r)
			require.Contains(t, r.output, "deopt upcall: verified")
			for _, check := range []string{"gst-asgct", "asgct-shadow"} {
				c := r.check(check)
				t.Logf("%+v", c)
				require.NotZero(t, c.Tolerated["deopt-upcall"], check)
			}
			for _, m := range r.mismatches {
				require.NotEqual(t, "code", m.Kind, "%+v", m)
			}
		})
	}
}
