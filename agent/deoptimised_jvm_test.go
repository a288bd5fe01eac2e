package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// AsyncGetCallTrace loses everything below a method that was called by compiled code which is deoptimised by now: frame::safe_for_sender
// refuses a sender whose return address is the deoptimisation entry (HotSpot: cpu/x86/frame_x86.cpp). The same program without the
// deoptimisation is walked well, at entries and in signals.
func TestADeoptimisedCallerCutsTheStackOff(t *testing.T) {
	for _, j := range jvms(t) {
		for _, flags := range [][]string{{"-XX:TieredStopAtLevel=1"}, {"-XX:-TieredCompilation"}} {
			for _, mode := range []string{"deoptimised", "kept"} {
				t.Run(j.String()+"/"+flags[0]+"/"+mode, func(t *testing.T) {
					o := Options{Seed: 1, Include: []string{"Deoptimised*"}, Checks: map[string]float64{"gst-asgct": 1, "shadow-gst": 1, "asgct-shadow": 1, "edges": 1}, Interval: time.Millisecond}
					all := append([]string{"-XX:-BackgroundCompilation", "-XX:-UseOnStackReplacement", "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Deoptimised.*"}, flags...)
					r := run(t, j, o, all, "Deoptimised", mode)
					requireSound(t, r)
					require.Contains(t, r.output, "deoptimised: verified")
					var cut []string
					sampled := 0
					for _, m := range r.mismatches {
						if m.Check != "gst-asgct" && m.Suspect.Source == "asgct" && len(m.Code) > 0 { // a sample, which has other ways to fail
							if m.Kind == "truncated" && m.boundary() == "Deoptimised.inner" {
								sampled++
							}
							continue
						}
						require.Equal(t, "gst-asgct", m.Check, "%+v", m)
						cut = append(cut, m.Kind+" at "+m.boundary())
					}
					if mode == "kept" {
						require.Empty(t, cut)
						require.Zero(t, sampled)
						return
					}
					require.Equal(t, []string{"truncated at Deoptimised.inner"}, cut)
					require.NotZero(t, sampled)
					for _, m := range r.mismatches {
						if m.Kind == "truncated" && m.boundary() == "Deoptimised.inner" {
							require.Equal(t, "Deoptimised.outer", m.below())
						}
					}
				})
			}
		}
	}
}

// below names the reference frame under the divergence.
func (m mismatch) below() string {
	m.Divergence--
	return m.boundary()
}
