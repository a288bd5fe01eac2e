package agent

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Every way in which Java code is called that is no plain invoke is a named rule of edges, in each way to run code: each entry of the
// program is checked, so its stacks below every upcall and method handle are judged, and none may be called impossible.
func TestEdgesOfEveryKindArePossible(t *testing.T) {
	modes := map[string][]string{"interpreted": {"-Xint"}, "mixed": nil, "c1": {"-XX:TieredStopAtLevel=1", "-Xcomp", "-XX:CompileCommand=quiet", "-XX:CompileCommand=compileonly,Upcalls*.*"}}
	for _, j := range jvms(t) {
		for mode, flags := range modes {
			t.Run(j.String()+"/"+mode, func(t *testing.T) {
				o := Options{Seed: 1, Include: []string{"Upcalls*"}, Checks: map[string]float64{"gst-asgct": 1, "edges": 1}}
				r := run(t, j, o, flags, "Upcalls", "20")
				requireSound(t, r)
				require.Contains(t, r.output, "upcalls: verified")
				c := r.check("edges")
				t.Logf("%+v", c)
				require.GreaterOrEqual(t, c.Total, r.check("gst-asgct").Total)
				require.Empty(t, c.Void)
				require.NotZero(t, c.Match)
				for _, rule := range []string{"vm-upcall", "method-handle", "native-caller"} {
					require.NotZerof(t, c.Tolerated[rule], "%s never fired", rule)
				}
				for _, m := range r.mismatches {
					require.NotEqual(t, "edges", m.Check, "%+v", m)
				}
			})
		}
	}
}
