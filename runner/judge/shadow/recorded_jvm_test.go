package shadow

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/agent"
	"misstep/internal/testenv"
	"misstep/runner/judge/altered"
	"misstep/runner/recording"
)

// recorded is what one trial under a profiler left.
type recorded struct {
	input   Input
	records []recording.Record
}

// judge returns the verdicts, each event changed before.
func (r recorded) judge(change func(*recording.Event)) *Judge {
	j := New(r.input)
	for _, record := range r.records {
		if e, is := record.(*recording.Event); is && change != nil {
			copied := *e
			change(&copied)
			record = &copied
		}
		_ = j.Visit(record)
	}
	return j
}

// run runs a program, whose arguments end with its class and what it takes, under the flags of a profiler that writes file.
func run(t *testing.T, j testenv.JDK, in Input, o agent.Options, file string, flags, program []string) recorded {
	t.Helper()
	dir := filepath.Dir(file)
	o.Out, o.Seed = dir, 1
	a, err := agent.Find(testenv.Agent(t))
	require.NoError(t, err)
	patch, err := agent.Prepare(t.Context(), a, j.Tool("java"), j.Feature, t.TempDir(), j.Digest)
	require.NoError(t, err)
	arguments, err := agent.JVMArgs(a, patch, j.Feature, o)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	debug := []string{"-Xmx512m", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"}
	all := append(append(append(debug, flags...), arguments...), program...)
	output, err := exec.CommandContext(ctx, j.Tool("java"), all...).CombinedOutput()
	require.NoError(t, err, "%s", output)

	taps, err := agent.ReadTap(filepath.Join(dir, agent.FileTap))
	require.NoError(t, err)
	list, err := os.ReadFile(filepath.Join(dir, agent.FileMethods))
	require.NoError(t, err)
	in.Tap, in.Methods, in.Feature, in.Limit = &taps, strings.Split(string(list), "\n"), j.Feature, 100
	r := recorded{input: in}
	jar := filepath.Join(testenv.Root(), "build", "recording", "misstep-recording.jar")
	if _, err := os.Stat(jar); err != nil {
		t.Skipf("the helper that reads recordings is not built (%v); run make recording", err)
	}
	helper := recording.Helper{Java: testenv.Catalogued(t, "jdk17").Tool("java"), Jar: jar}
	_, _, err = helper.Read(t.Context(), file, recording.Limits{}, func(record recording.Record) error {
		r.records = append(r.records, record)
		return nil
	})
	require.NoError(t, err)
	return r
}

// half instruments half of the methods.
func half(tap string) agent.Options { return agent.Options{Ratio: 0.5, Tap: tap} }

// mix returns the arguments that run the workload of that name; the test skips where it is not built.
func mix(t *testing.T) []string {
	t.Helper()
	library := filepath.Join(testenv.Root(), "build", "workloads", "mix", "lib")
	if _, err := os.Stat(library); err != nil {
		t.Skipf("the workload mix is not built (%v); run make workloads", err)
	}
	return []string{"-cp", filepath.Join(library, "*"), "misstep.workloads.mix.Main", "40000", "7"}
}

func TestSamplesOfJFRHaveTheShadowOfTheirSignal(t *testing.T) {
	settings, err := filepath.Abs("testdata/samples.jfc")
	require.NoError(t, err)
	for _, name := range []string{"jdk17", "jdk25"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "r.jfr")
			flags := []string{
				"-XX:StartFlightRecording=filename=" + file + ",settings=" + settings, "-XX:FlightRecorderOptions=stackdepth=1024",
			}
			r := run(t, testenv.Catalogued(t, name), Input{Check: "jfr-shadow", Source: JFR}, half("both"), file, flags, mix(t))
			requireJudged(t, r)
			requireFaultsSeen(t, r)
		})
	}
}

func TestSamplesOfAsyncProfilerHaveTheShadowOfTheirSignal(t *testing.T) {
	library := os.Getenv("MISSTEP_ASYNC_PROFILER")
	if library == "" {
		t.Skip("MISSTEP_ASYNC_PROFILER does not name a libasyncProfiler.so")
	}
	for _, walker := range []string{"vm", "no"} {
		t.Run(walker, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "r.jfr")
			flags := []string{"-agentpath:" + library + "=start,event=ctimer,interval=1ms,cstack=" + walker + ",jfr,file=" + file}
			in := Input{Check: "profiler-shadow", Source: AsyncProfiler, Walker: walker}
			r := run(t, testenv.Catalogued(t, "jdk25"), in, half("prof"), file, flags, mix(t))
			requireJudged(t, r)
			requireFaultsSeen(t, r)
		})
	}
}

// requireJudged asserts that nearly every sample that a signal took is judged, and that nearly all of them are right. What is wrong
// is: of async-profiler 4.1 by its walker vm, up to 6 % (docs/figures/0013-recordings.md).
func requireJudged(t *testing.T, r recorded) {
	t.Helper()
	j := r.judge(nil)
	v := j.Verdicts()
	t.Log(v.Count)
	for _, m := range v.Mismatches {
		suspect := m.GetSuspect()
		t.Log(m.GetKind(), m.GetDivergence(), suspect.GetSampler(), len(m.GetReference().GetFrames()), suspect.GetFrames())
	}
	expected := uint64(0)
	for _, e := range j.taken.Events {
		if e.Type != "jdk.NativeMethodSample" { // JFR sends no signal for it
			expected++
		}
	}
	expected -= v.Count.GetVoid()[voidShadow]
	tolerated := uint64(0)
	for _, n := range v.Count.GetTolerated() {
		tolerated += n
	}
	answered := v.Count.GetMatch() + v.Count.GetMismatch() + tolerated
	require.Greater(t, expected, uint64(100))
	unwalkable := uint64(0)
	for _, n := range v.Count.GetUnwalkable() {
		unwalkable += n
	}
	assert.Greater(t, 100*(answered+unwalkable), 90*expected)
	assert.Greater(t, 2*v.Count.GetMatch(), answered)
	assert.Less(t, 8*v.Count.GetMismatch(), answered)
}

// requireFaultsSeen asserts that the samples that match no longer do when an instrumented method is taken out of the middle of
// their traces, and when the outer half is cut off.
func requireFaultsSeen(t *testing.T, r recorded) {
	t.Helper()
	clean := r.judge(nil)
	samples := clean.samples()
	right := map[int64]bool{} // by time
	for i, s := range samples {
		if s.sample != nil && compare(s.sample) == (verdict{}) && len(s.shadow) >= 5 {
			right[clean.taken.Events[i].StartNanos] = true
		}
	}
	// The middle one of the instrumented frames is the place.
	middle := func(frames []recording.Frame) int {
		var places []int
		for i, f := range frames {
			if m := clean.methods.of(f.Method); m != nil && m.key != 0 {
				places = append(places, i)
			}
		}
		return places[len(places)/2]
	}
	for _, fault := range altered.Faults {
		if fault.Class != altered.MiddleDropped && fault.Class != altered.HalfLost {
			continue
		}
		j := r.judge(func(e *recording.Event) {
			if right[e.StartNanos] {
				e.Stack = &recording.Stack{Frames: fault.Apply(nil, nil, e.Stack.Frames, middle(e.Stack.Frames))}
			}
		})
		seen, all := 0, 0
		changed := j.samples()
		for i, s := range changed {
			if s.sample == nil || !right[j.taken.Events[i].StartNanos] {
				continue
			}
			s.bottom = fault.Class == altered.MiddleDropped
			all++
			if compare(s.sample).kind != "" {
				seen++
			}
		}
		t.Logf("%s: %d of %d", fault.Class, seen, all)
		require.Greater(t, all, 50)
		assert.GreaterOrEqual(t, 100*seen, 99*all, fault.Class)
	}
}
