package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// AsyncGetCallTrace loses everything below a method whose compiled caller has been deoptimised: frame::safe_for_sender rejects a
// sender whose return address is the deoptimisation entry (HotSpot: cpu/x86/frame_x86.cpp). The same program without the
// deoptimisation is walked correctly, at entries and in signals. Each record names the caller by its return address on the stack.
func TestADeoptimisedCallerCutsTheStackOff(t *testing.T) {
	for _, j := range jvms(t) {
		for _, flags := range [][]string{{"-XX:TieredStopAtLevel=1"}, {"-XX:-TieredCompilation"}} {
			for _, mode := range []string{"deoptimised", "kept"} {
				t.Run(j.String()+"/"+flags[0]+"/"+mode, func(t *testing.T) {
					o := Options{
						Seed: 1, Include: []string{"Deoptimised*"}, Interval: time.Millisecond,
						Checks: map[string]float64{"gst-asgct": 1, "shadow-gst": 1, "asgct-shadow": 1, "edges": 1},
					}
					r := run(t, j, o, deoptimising(flags...), "Deoptimised", mode)
					// A busy machine may have no time to sample.
					for tries := 1; tries < 3 && mode != "kept" && cutSamples(r.mismatches) == 0; tries++ {
						r = run(t, j, o, deoptimising(flags...), "Deoptimised", mode)
					}
					requireSound(t, r)
					require.Contains(t, r.output, "deoptimised: verified")
					var cut []string
					for _, m := range r.mismatches {
						if m.sample() { // it may show other bugs, too
							continue
						}
						require.Equal(t, "gst-asgct", m.Check, "%+v", m)
						cut = append(cut, m.Kind+" at "+m.boundary())
					}
					if mode == "kept" {
						require.Empty(t, cut)
						require.Zero(t, cutSamples(r.mismatches))
						return
					}
					require.Equal(t, []string{"truncated at Deoptimised.inner"}, cut)
					require.NotZero(t, cutSamples(r.mismatches), "%+v", r.check("asgct-shadow"))
					for _, m := range r.mismatches {
						if m.Kind == "truncated" && m.boundary() == "Deoptimised.inner" {
							require.Equal(t, "Deoptimised.outer", m.below())
							require.Equal(t, "Deoptimised.outer", m.deoptimised(), "%+v", m)
						}
					}
				})
			}
		}
	}
}

// cutSamples counts the samples that were cut off at the deoptimised caller.
func cutSamples(mismatches []mismatch) (n int) {
	for _, m := range mismatches {
		if m.sample() && m.Kind == "truncated" && m.boundary() == "Deoptimised.inner" {
			n++
		}
	}
	return n
}

// deoptimising returns the flags with which Deoptimised's methods are compiled as it expects.
func deoptimising(flags ...string) []string {
	return append([]string{
		"-XX:-BackgroundCompilation", "-XX:-UseOnStackReplacement", "-XX:CompileCommand=quiet",
		"-XX:CompileCommand=dontinline,Deoptimised.*",
	}, flags...)
}

// Every JDK and compiler has its own form of the deoptimisation entry: the agent recognises all of them, at entries, in signals and
// in brackets.
func TestADeoptimisedCallerIsKnownOnEveryJDK(t *testing.T) {
	cut := map[string]int{}
	for _, j := range features(t) {
		for _, flags := range []string{"-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation"} {
			t.Run(j.String()+"/"+flags, func(t *testing.T) {
				o := Options{
					Seed: 1, Include: []string{"Deoptimised*"}, Interval: time.Millisecond,
					Checks: map[string]float64{"gst-asgct": 1, "asgct-shadow": 1, "asgct-gst-bracket": 0.5},
				}
				r := run(t, j, o, deoptimising(flags), "Deoptimised", "deoptimised")
				requireSound(t, r)
				before := cut["gst-asgct"]
				for _, m := range r.mismatches {
					if m.Kind == "truncated" && m.boundary() == "Deoptimised.inner" {
						require.Equal(t, "Deoptimised.outer", m.deoptimised(), "%+v", m)
						cut[m.Check]++
					}
				}
				require.Greater(t, cut["gst-asgct"], before)
			})
		}
	}
	t.Logf("%v", cut)
	require.Len(t, cut, 3, "one run without a signal in the method is no failure, all runs without one are")
}

// deoptimised names the caller whose deoptimisation entry was found.
func (m mismatch) deoptimised() string {
	return m.DeoptimisedCaller.ClassName + "." + m.DeoptimisedCaller.Method
}

// below names the reference frame under the divergence.
func (m mismatch) below() string {
	m.Divergence--
	return m.boundary()
}
