package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// brackets returns options without checks that need instrumented methods.
func brackets() Options {
	return Options{
		Seed: 1, Checks: map[string]float64{"asgct-gst-bracket": 1, "edges": 1}, Interval: 500 * time.Microsecond, Jitter: 0.5,
	}
}

// The JVM is neither patched nor instrumented, and every bracket has its verdict.
func TestBracketsNeedNoInstrumentation(t *testing.T) {
	for _, j := range jvms(t) {
		t.Run(j.String(), func(t *testing.T) {
			o := brackets()
			o.Out = t.TempDir()
			r := runUntil(t, built(t), j, o, func(r result) bool {
				c := r.check("asgct-gst-bracket")
				return c.Match > 100 && c.Tolerated["moved"] > 0 && r.check("edges").Match > 0
			}, nil, "Mixed", spent, "1")
			requireSound(t, r)
			log, err := os.ReadFile(filepath.Join(o.Out, "agent.log"))
			require.NoError(t, err)
			require.NotContains(t, string(log), "without checks", "the agent's own thread takes no slot")
			c := r.check("asgct-gst-bracket")
			t.Logf("%+v", c)
			require.Zero(t, r.status.Instrumented)
			require.Greater(t, c.Match, uint64(50))
			require.NotZero(t, c.Tolerated["moved"], "no loop jumped back within a bracket")
			require.NotZero(t, r.check("edges").Match, "edges judges the walks of brackets")
			for _, m := range r.mismatches {
				t.Logf("%s %s at %s (%s)", m.Check, m.Kind, m.boundary(), m.TopState)
			}
		})
	}
}

// inTurns returns options with an interval so short that threads have brackets in turns.
func inTurns() Options {
	o := brackets()
	o.Checks["edges"], o.Interval = 0, 50*time.Microsecond
	return o
}

// Threads end in the middle of their turns, and so does the JVM.
func TestBracketsOfThreadsThatStartAndEnd(t *testing.T) {
	for _, j := range jvms(t) {
		for _, end := range []string{"return", "exit", "halt"} {
			t.Run(j.String()+"/"+end, func(t *testing.T) {
				enough := func(r result) bool { return r.check("asgct-gst-bracket").Match > 10 }
				r := runUntil(t, built(t), j, inTurns(), enough, nil, "Churn", spent, end)
				requireSound(t, r)
				require.Contains(t, r.output, "churn: verified")
				c := r.check("asgct-gst-bracket")
				t.Logf("%+v", c)
				require.NotZero(t, c.Match)
				require.LessOrEqual(t, r.status.Seconds, c.Total)
			})
		}
	}
}

// The only running thread has both brackets and samples, in turns and tick by tick: neither check takes all ticks.
func TestBracketsBesideSamples(t *testing.T) {
	for _, j := range jvms(t) {
		for _, interval := range []time.Duration{inTurns().Interval, time.Millisecond} {
			t.Run(fmt.Sprint(j, " each ", interval), func(t *testing.T) {
				o := inTurns()
				o.Checks["asgct-shadow"], o.Include, o.Interval = 1, []string{"Mixed*"}, interval
				r := runUntil(t, built(t), j, o, func(r result) bool {
					return r.check("asgct-gst-bracket").Match > 20 && r.check("asgct-shadow").Match > 20
				}, nil, "Mixed", spent, "1")
				requireSound(t, r)
				brackets, samples := r.check("asgct-gst-bracket"), r.check("asgct-shadow")
				t.Logf("%d brackets, %d samples", brackets.Total, samples.Total)
				require.Greater(t, brackets.Match, uint64(20))
				require.Greater(t, samples.Match, uint64(20))
			})
		}
	}
}

// The turn of a waiting thread is over after one bracket, so it has only a small part of the brackets that the interval allows.
// Here only that thread has brackets: the number of those of other threads, which run while the JVM starts, depends on the
// machine's load.
func TestAThreadThatWaitsHasNoTurns(t *testing.T) {
	const waits, turn = 2 * time.Second, 4 * time.Millisecond
	for _, j := range jvms(t) {
		t.Run(j.String(), func(t *testing.T) {
			o := inTurns()
			o.Threads = "name:parked"
			r := run(t, j, o, nil, "Parked", fmt.Sprint(waits.Seconds()))
			most := uint64(waits * 3 / 2 / turn)
			requireSound(t, r)
			require.Contains(t, r.output, "parked: verified")
			t.Logf("%d brackets, at most %d", r.check("asgct-gst-bracket").Total, most)
			require.NotZero(t, r.check("asgct-gst-bracket").Total)
			require.Less(t, r.check("asgct-gst-bracket").Total, most)
		})
	}
}

// JDK-8303444 without any instrumentation: ASGCT loses the frames below the upcall, GetStackTrace has them.
func TestBracketsFindTheLostBottom(t *testing.T) {
	for _, j := range jvms(t) {
		t.Run(j.String(), func(t *testing.T) {
			r := run(t, j, brackets(), compiled("SlowClinit*::*", "-XX:TieredStopAtLevel=1"), "SlowClinit")
			requireSound(t, r)
			found := false
			for _, m := range r.mismatches {
				found = found || m.Check == "asgct-gst-bracket" && m.Kind == "truncated" &&
					m.boundary() == "SlowClinit$Lazy.<clinit>"
			}
			require.True(t, found, "%+v %+v", r.check("asgct-gst-bracket"), r.mismatches)
		})
	}
}

// The trace stack as the second reference: it has frames that are not instrumented, and bytecode indices.
func TestSamplesAreJudgedByTraces(t *testing.T) {
	for _, j := range jvms(t) {
		t.Run(j.String(), func(t *testing.T) {
			o := Options{
				Seed: 1, Checks: map[string]float64{"asgct-shadow": 1}, Reference: "trace:0.2", Interval: 500 * time.Microsecond,
				Include: []string{"Mixed*"},
			}
			r := run(t, j, o, nil, "Mixed", "4", "1")
			requireSound(t, r)
			t.Logf("%d of %d samples by traces, %+v", r.status.Traced, r.status.Answered, r.check("asgct-shadow"))
			require.Greater(t, r.status.Traced, uint64(5))
			for _, m := range r.mismatches {
				t.Logf("%s %s at %s (%s) by %s", m.Check, m.Kind, m.boundary(), m.TopState, m.Reference.Source)
				require.NotEqual(t, "wrong-bci", m.Kind, "%+v", m)
			}
		})
	}
}

// Each choice of threads gets signals, except a pattern that no thread's name matches.
func TestTheChoiceOfThreads(t *testing.T) {
	j := jvms(t)[0]
	for threads, some := range map[string]bool{"round-robin": true, "cpu": true, "name:ma*n": true, "name:nobody": false} {
		t.Run(threads, func(t *testing.T) {
			o := brackets()
			o.Checks["edges"], o.Threads = 0, threads
			r := run(t, j, o, nil, "Mixed", "0.5", "1")
			requireSound(t, r)
			require.Equal(t, some, r.status.Sent > 0, "%d sent", r.status.Sent)
		})
	}
}

// A tick without bursts sends one signal at most, a burst up to eight: so many more than there are ticks that a busy machine, where
// a burst ends early because its thread does not run, cannot hide the difference.
func TestBursts(t *testing.T) {
	j := jvms(t)[0]
	const interval = 100 * time.Millisecond
	for _, burst := range []int{1, 8} {
		o := Options{
			Seed: 1, Checks: map[string]float64{"asgct-shadow": 1}, Interval: interval, Burst: burst, Include: []string{"Mixed*"},
		}
		began := time.Now()
		r := run(t, j, o, nil, "Mixed", "1", "2")
		ticks := uint64(time.Since(began)/interval) + 1
		requireSound(t, r)
		t.Logf("%d signals, %d ticks at most", r.status.Sent, ticks)
		require.Equal(t, burst > 1, r.status.Sent > ticks, "%d signals in %d ticks at most with bursts of %d",
			r.status.Sent, ticks, burst)
	}
}

// With stack scanning on, a code of ASGCT leads to walks from words of the stack; no sample is judged by them.
func TestStackScanning(t *testing.T) {
	all := jvms(t)
	j := all[len(all)-1]
	if j.feature < 21 {
		t.Skip("JDK 17 has the bug that stack scanning provokes (JDK-8352649): this test needs a JDK 21 or later")
	}
	for _, guesses := range []int{0, 7} {
		o := Options{
			Seed: 1, Checks: map[string]float64{"asgct-shadow": 1}, Interval: 100 * time.Microsecond, Guesses: guesses,
			Include: []string{"Mixed*"},
		}
		r := run(t, j, o, nil, "Mixed", "1", "2")
		requireSound(t, r)
		t.Logf("guesses %d: %+v", guesses, r.check("asgct-shadow"))
		require.Equal(t, guesses > 0, r.status.Guessed > 0, "%d walks by stack scanning, %d samples", r.status.Guessed,
			r.status.Answered)
	}
}
