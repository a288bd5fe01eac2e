package agent

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"misstep/recipe"
)

// seenStacks is what a stacks.bin has: the rounds, and how many traces of a thread have a method.
type seenStacks struct {
	summary StackSummary
	threads map[string]int
	methods map[string]int
}

// rounds is enough once several rounds have Churn's thread at work.
func rounds(dir string) func(result) bool {
	return func(result) bool {
		working := 0
		_, err := ReadStacks(filepath.Join(dir, FileStacks), func(r StackRound) error {
			if slices.ContainsFunc(r.Stacks, func(s ThreadStack) bool {
				return slices.ContainsFunc(s.Frames, func(f StackFrame) bool { return f.Class == "Churn" && f.Method == "main" })
			}) {
				working++
			}
			return nil
		})
		return err == nil && working > 3
	}
}

func readStacks(t *testing.T, dir string) seenStacks {
	t.Helper()
	s := seenStacks{threads: map[string]int{}, methods: map[string]int{}}
	var err error
	s.summary, err = ReadStacks(filepath.Join(dir, FileStacks), func(r StackRound) error {
		require.LessOrEqual(t, r.Begin, r.End)
		require.WithinDuration(t, time.Now(), time.Unix(0, r.Begin), time.Hour)
		for _, stack := range r.Stacks {
			s.threads[stack.Thread.Name]++
			for _, f := range stack.Frames {
				s.methods[f.Class+"."+f.Method]++
			}
		}
		return nil
	})
	require.NoError(t, err)
	return s
}

// On every JDK the thread takes stack traces, alone in a JVM that is not patched, and in one whose methods are instrumented.
func TestStackTracesAreTaken(t *testing.T) {
	for _, j := range features(t) {
		for name, checks := range map[string]map[string]float64{"alone": nil, "instrumented": {recipe.GstAsgct: 0.01}} {
			t.Run(j.String()+" "+name, func(t *testing.T) {
				out := t.TempDir()
				o := Options{Out: out, Checks: checks, Stacks: 5 * time.Millisecond}
				r := runUntil(t, built(t), j, o, rounds(out), []string{"-Xmx64m"}, "Churn", spent, "return")
				requireSound(t, r)
				require.Equal(t, checks != nil, r.status.Instrumented > 0)
				s := readStacks(t, out)
				t.Logf("%+v, %d methods, %d threads", s.summary, len(s.methods), len(s.threads))
				require.Greater(t, s.summary.Rounds, 2)
				require.Positive(t, s.threads["main"])
				require.Positive(t, s.methods["Churn.main"])
				require.NotContains(t, s.threads, "misstep-stacks", "it does not show itself")
			})
		}
	}
}

// The thread stops before the JVM's heap does: from 26 on a dump that needs a collection after that would never end, nor would the
// JVM (reports/MISSTEP-dump-at-exit).
func TestTheStackSamplerDoesNotHoldUpTheEnd(t *testing.T) {
	for _, j := range features(t) {
		if j.feature < 26 {
			continue
		}
		t.Run(j.String(), func(t *testing.T) {
			for range 4 {
				r := run(t, j, Options{Stacks: time.Millisecond}, []string{"-Xmx64m", "-Xmn2m"}, "DumpAtEnd")
				require.NoError(t, r.err, r.output)
				require.True(t, r.status.Ended)
			}
		})
	}
}

// The thread has no shadow and gets no signals: where only it is to be sampled, nothing is.
func TestTheStackSamplerIsLeftAlone(t *testing.T) {
	for _, j := range jvms(t) {
		t.Run(j.String(), func(t *testing.T) {
			out := t.TempDir()
			r := runUntil(t, built(t), j, Options{
				Out: out, Checks: map[string]float64{recipe.AsgctShadow: 1, recipe.GstAsgct: 1}, Interval: time.Millisecond,
				Threads: "name:misstep-*", Stacks: 2 * time.Millisecond,
			}, rounds(out), nil, "Churn", spent, "return")
			requireSound(t, r)
			require.Greater(t, readStacks(t, out).summary.Rounds, 2)
			require.Zero(t, r.status.Sent)
			for _, m := range r.mismatches {
				require.NotContains(t, m.Thread, "misstep")
			}
		})
	}
}
