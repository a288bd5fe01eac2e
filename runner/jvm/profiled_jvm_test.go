package jvm

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	verdicts "misstep/runner/judge"
	"misstep/runner/recording"
)

// tally is a judge that calls each sample a match, but a mismatch where a method of a certain name is on the stack.
type tally struct {
	count   misstepv1.CheckCount
	against string
}

func (c *tally) Visit(r recording.Record) error {
	e, ok := r.(*recording.Event)
	if !ok || e.Type != "jdk.ExecutionSample" && e.Type != "jdk.CPUTimeSample" || e.Stack == nil {
		return nil
	}
	c.count.Total++
	for _, f := range e.Stack.Frames {
		if c.against != "" && f.Method != nil && f.Method.Name == c.against {
			c.count.Mismatch++
			return nil
		}
	}
	c.count.Match++
	return nil
}

func (c *tally) Verdicts() verdicts.Verdicts {
	v := verdicts.Verdicts{Count: &c.count}
	v.Count.Check = tallied
	if c.count.Mismatch > 0 {
		v.Mismatches = []*misstepv1.Mismatch{{Check: tallied, Kind: "missing", Count: c.count.Mismatch}}
	}
	return v
}

const tallied = "tallied-samples"

// withTally registers the judge for the test.
func withTally(t *testing.T, against string) {
	t.Helper()
	consumers[tallied] = func(context.Context, *trial, *misstepv1.Check) (consumer, error) {
		return &tally{against: against}, nil
	}
	t.Cleanup(func() { delete(consumers, tallied) })
}

// withProfilers is a stand with the helper and the libraries that were built.
func withProfilers(t *testing.T) *stand {
	t.Helper()
	s := newStand(t)
	build := filepath.Join("..", "..", "build")
	jar := filepath.Join(build, "recording", "misstep-recording.jar")
	if _, err := os.Stat(jar); err != nil {
		t.Skipf("the helper is not built, run `make recording`: %v", err)
	}
	if jdks()[17] == "" {
		t.Skip("no JDK 17 to run the helper")
	}
	s.Recording = recording.Helper{Java: filepath.Join(jdks()[17], "bin", "java"), Jar: jar}
	var err error
	s.Profilers, err = filepath.Abs(filepath.Join(build, "profilers"))
	require.NoError(t, err)
	return s
}

func profiled(feature int, name string, arguments ...string) *misstepv1.Recipe {
	r := recipeOf(feature, arguments...)
	r.JvmFlags = []string{"-Xmx64m", "-XX:+UseSerialGC"}
	r.Profiler = &misstepv1.Profiler{Name: name, Interval: durationpb.New(time.Millisecond)}
	r.Checks = []*misstepv1.Check{{Name: tallied}}
	return r
}

// judged returns the counts of the one check.
func judged(t *testing.T, outcome *misstepv1.Outcome) *misstepv1.CheckCount {
	t.Helper()
	require.Len(t, outcome.GetChecks(), 1)
	c := outcome.GetChecks()[0]
	t.Logf("%v: %v matches, %v mismatches, void %v, wall %v, judging %v", outcome.GetKind(), c.GetMatch(), c.GetMismatch(),
		c.GetVoid(), outcome.GetWall().AsDuration(), outcome.GetJudging().AsDuration())
	require.Positive(t, outcome.GetJudging().AsDuration())
	require.Equal(t, c.GetTotal(), compared(c)+sum(c.GetVoid()), "the verdicts add up")
	return c
}

// Each profiler leaves a recording with samples, which are judged after the trial.
func TestProfilersLeaveRecordings(t *testing.T) {
	withTally(t, "")
	everyProfiler(t, func(t *testing.T, s *stand, feature int, name string) {
		outcome, err := s.run(t, t.Context(), profiled(feature, name, "work", "4500")) // long enough on a busy machine, too
		require.NoError(t, err)
		require.Equal(t, clean, outcome.GetKind(), outcome.GetReason())
		c := judged(t, outcome)
		require.Greater(t, c.GetMatch(), uint64(50))
		require.Empty(t, c.GetVoid())
		for _, e := range outcome.GetEvidence() {
			require.NotEqual(t, FileRecording, e.GetName(), "the recording of a clean trial is of no use")
		}
		command := s.evidence(t, outcome, "command.sh")
		require.Contains(t, command, "/"+dirProfile+"\n", "the folder that it needs")
		require.Equal(t, name == "jfr", strings.Contains(command, `<event name="jdk.ExecutionSample">`), "the file that it needs")
	})
}

// The recording is among a mismatch's evidence, and the command can be run again.
func TestRecordingIsEvidence(t *testing.T) {
	withTally(t, "work")
	everyProfiler(t, func(t *testing.T, s *stand, feature int, name string) {
		outcome, err := s.run(t, t.Context(), profiled(feature, name, "work", "1000"))
		require.NoError(t, err)
		require.Equal(t, misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES, outcome.GetKind(), outcome.GetReason())
		require.Positive(t, judged(t, outcome).GetMismatch())
		kept := s.evidence(t, outcome, FileRecording)
		require.True(t, strings.HasPrefix(kept, "FLR\x00"))
		path := filepath.Join(t.TempDir(), FileRecording)
		require.NoError(t, os.WriteFile(path, []byte(kept), 0o600))
		summary, _, err := s.Recording.Read(t.Context(), path, recording.Limits{}, func(recording.Record) error { return nil })
		require.NoError(t, err)
		require.Zero(t, summary.Problems)
	})
}

// However the JVM ends under a profiler, the outcome is the same as without, and what was recorded until then is judged.
func TestEndsUnderAProfiler(t *testing.T) {
	withTally(t, "")
	everyProfiler(t, func(t *testing.T, s *stand, feature int, name string) {
		for _, c := range []struct {
			arguments []string
			kind      misstepv1.OutcomeKind
			reason    string
			onlyJFR   bool
		}{
			{[]string{"exit", "1"}, failure, "exit-code", true},
			{[]string{"print"}, failure, "output", false}, // killed
			{[]string{"crash"}, crash, "", false},
			{[]string{"loop"}, hang, "", true}, // ended by SIGABRT
		} {
			work := "2500"
			if name != "jfr" {
				work = "6500" // a chunk can be read when it has ended
				if c.onlyJFR {
					continue
				}
			}
			t.Run(c.arguments[0], func(t *testing.T) {
				r := profiled(feature, name, append([]string{"after", work}, c.arguments...)...)
				r.Limits.OutputMib = 1
				if c.kind == hang {
					r.Limits.Wall = durationpb.New(10 * time.Second) // until JFR has flushed its first events
				}
				outcome, err := s.run(t, t.Context(), r)
				require.NoError(t, err)
				require.Equal(t, c.kind, outcome.GetKind(), outcome.GetReason())
				require.Equal(t, c.reason, outcome.GetApplicationFailure().GetReason())
				if unflushed := name == "jfr" && feature < 14; unflushed && (c.kind == hang || c.arguments[0] == "print") {
					require.Equal(t, map[string]uint64{recipe.NoRecording: 1}, outcome.GetChecks()[0].GetVoid())
					return // the JVM was killed before its first chunk had ended
				}
				least := uint64(100)
				if c.kind == hang {
					least = 0 // its time is limited: on a busy machine JFR has flushed next to nothing until then
				}
				require.Greater(t, judged(t, outcome).GetMatch(), least)
				if c.kind != failure {
					require.True(t, strings.HasPrefix(s.evidence(t, outcome, FileRecording), "FLR\x00"))
				}
			})
		}
	})
}

func TestProfilersThatDoNotStart(t *testing.T) {
	withTally(t, "")
	s := withProfilers(t)
	for name, options := range map[string][]string{
		"jfr":            {"memorysize=1m", "threadbuffersize=2m"}, // each may be given, but not both
		"async-profiler": {"begin=no_such_function"},
	} {
		r := profiled(17, name, "verified")
		r.Profiler.Options = options
		_, err := s.run(t, t.Context(), r)
		require.ErrorContains(t, err, "start the profiler "+name+": ")
		t.Log(err)
	}
}

// everyProfiler runs f with each profiler on each JDK, side by side, each on a stand of its own.
func everyProfiler(t *testing.T, f func(t *testing.T, s *stand, feature int, name string)) {
	t.Helper()
	withProfilers(t)
	for feature := range jdks() {
		for _, name := range []string{"jfr", "async-profiler"} {
			t.Run(recipeOf(feature).GetJdk().GetName()+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := withProfilers(t)
				if _, err := os.Stat(filepath.Join(s.Profilers, "libasyncProfiler.so")); err != nil && name != "jfr" {
					t.Skipf("async-profiler is not here, run `make profilers`: %v", err)
				}
				f(t, s, feature, name)
			})
		}
	}
}

// What a recipe lacks is said before a JVM is started.
func TestRecipesThatCannotBeJudged(t *testing.T) {
	withTally(t, "")
	e := &Executor{
		JDK:     func(context.Context, *misstepv1.Jdk) (string, int, error) { return "", 0, nil },
		Scratch: t.TempDir(),
	}
	for _, c := range []struct {
		change func(r *misstepv1.Recipe)
		want   string
	}{
		{func(r *misstepv1.Recipe) { r.Profiler = nil }, "judges the recording of a profiler: set profiler.name"},
		{func(r *misstepv1.Recipe) { r.Profiler.Name = "honest" }, `unknown profiler "honest"`},
		{func(*misstepv1.Recipe) {}, "no helper that reads recordings; build it with `make recording`"},
		{func(r *misstepv1.Recipe) { r.Profiler.Name = "async-profiler" }, "no libasyncProfiler.so"},
		{func(r *misstepv1.Recipe) { r.Profiler.Options = []string{"filename=x"} }, "filename may not be given: the trial says where the recording is written"},
	} {
		r := profiled(17, "jfr", "verified")
		c.change(r)
		_, err := e.Run(t.Context(), r, nil)
		require.ErrorContains(t, err, c.want)
	}
}
