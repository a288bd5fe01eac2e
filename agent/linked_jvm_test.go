package agent

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// JDK-8302320: an interpreted method that was called through a method handle's linker hides its callers. The linker removes its own
// argument from the stack, so the caller's raw sp may be one word above its expected sp, and frame::safe_for_sender took that for a
// stack that cannot be walked (HotSpot: cpu/x86/frame_x86.cpp). A local variable that is not an argument moves the raw sp down
// again, and the walk succeeds.
func TestAMethodHandlesLinkerHidesTheCallers(t *testing.T) {
	for _, j := range features(t) {
		for _, mode := range []string{"tight", "room"} {
			if mode == "room" && j.feature > 11 {
				continue // the counter-example of the bug
			}
			t.Run(j.String()+"/"+mode, func(t *testing.T) {
				o := Options{Seed: 1, Include: []string{"Linked.leaf"}, Checks: map[string]float64{"gst-asgct": 1, "shadow-gst": 1}}
				r := run(t, j, o, []string{"-Xint"}, "Linked", mode)
				requireSound(t, r)
				require.Contains(t, r.output, "linked: verified")
				c := r.check("gst-asgct")
				require.Equal(t, uint64(1_000), c.Total)
				// Fixed in 21, 20.0.1 and 17.0.8: the catalogue's 17 is newer, and it has no 12 to 16.
				if mode == "room" || j.feature > 11 {
					require.Equal(t, c.Total, c.Match)
					return
				}
				require.Equal(t, c.Total, c.Mismatch, "every call")
				for _, m := range r.mismatches {
					require.Equal(t, "gst-asgct truncated", m.Check+" "+m.Kind)
					require.Regexp(t, `^java\.lang\.invoke\.(LambdaForm\$DMH.*|DirectMethodHandle\$Holder)\.invokeStatic`,
						m.boundary())
					require.Contains(t, m.below(), "java.lang.invoke.")
				}
			})
		}
	}
}
