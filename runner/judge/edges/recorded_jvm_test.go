package edges

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/agent"
	"misstep/internal/testenv"
	"misstep/recipe"
	"misstep/runner/recording"
)

// trial is what one run left.
type trial struct {
	feature int // of the JDK
	program *Program
	records []recording.Record
}

// events returns those with a stack.
func (r trial) events() []*recording.Event {
	var events []*recording.Event
	for _, record := range r.records {
		if e, is := record.(*recording.Event); is && e.Stack != nil {
			events = append(events, e)
		}
	}
	return events
}

// compiled returns the folder of the classes of testdata/Events.java.
func compiled(t *testing.T) string {
	t.Helper()
	classes := t.TempDir()
	compile := exec.Command(testenv.Javac(t), "--release", "8", "-Xlint:-options", "-d", classes, "testdata/Events.java")
	output, err := compile.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return classes
}

// run runs Events with the flags of a profiler that writes file.
func run(t *testing.T, j testenv.JDK, classes string, o agent.Options, dir, file string, flags ...string) trial {
	t.Helper()
	a, err := agent.Find(testenv.Agent(t))
	require.NoError(t, err)
	o.Out, o.Seed, o.Sites = dir, 1, true
	patch := ""
	if o.NeedsMethods() {
		patch, err = agent.Prepare(t.Context(), a, j.Tool("java"), j.Feature, t.TempDir(), j.Digest)
		require.NoError(t, err)
	}
	arguments, err := agent.JVMArgs(a, patch, j.Feature, o)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	all := []string{"-Xmx512m", "-XX:TLABSize=4k", "-XX:-ResizeTLAB", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"}
	all = append(append(append(all, flags...), arguments...), "-cp", classes, "Events", "2000")
	output, err := exec.CommandContext(ctx, j.Tool("java"), all...).CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.Contains(t, string(output), "events: done")

	began := time.Now()
	sites, err := agent.ReadSites(filepath.Join(dir, agent.FileSites))
	require.NoError(t, err)
	require.Zero(t, sites.Cut)
	r := trial{feature: j.Feature, program: NewProgram(sites)}
	info, err := os.Stat(filepath.Join(dir, agent.FileSites))
	require.NoError(t, err)
	t.Logf("%s: %d KiB of %d classes, read in %v", agent.FileSites, info.Size()>>10, len(sites.Classes), time.Since(began))
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

// judged returns the judge of all records.
func (r trial) judged(profiler string) *Judge {
	j := New(Input{Program: r.program, Profiler: profiler, Feature: r.feature, Limit: 50})
	for _, record := range r.records {
		_ = j.Visit(record)
	}
	return j
}

// requirePossible asserts that edges were judged and none is impossible, and logs how many of each type of event.
func requirePossible(t *testing.T, r trial, profiler string) *Judge {
	t.Helper()
	types := map[string]int{}
	for _, e := range r.events() {
		types[e.Type]++
	}
	began := time.Now()
	j := r.judged(profiler)
	took := time.Since(began)
	v := j.Verdicts()
	t.Log(types)
	t.Log(j)
	t.Logf("%d edges in %v", v.Count.GetTotal(), took)
	for e, x := range j.explained {
		if x == Unknown {
			t.Logf("unknown: %v (%d) calls %v (%d)", e.caller.named, len(e.caller.versions), e.callee.named, len(e.callee.versions))
		}
	}
	// Samples are taken at any instruction, at some of which the walk is wrong (jfr-shadow: one in a thousand): an impossible edge
	// on top is then what the check is for, and no rule tolerates it. A walk through what calls that have returned left on the
	// stack has up to mostDead of them. Inexact debug information (JDK-8022893) is no reason for one: it has an inlined method and
	// its caller's index in one record (HotSpot vframe.inline.hpp, fill_in_compiled_inlined_sender), so that the wrong place is a
	// possible one. From JDK 25 on JFR walks at safepoints (JEP 518), as all other events do.
	const mostDead = 3
	wrong, mostWrong := uint64(0), uint64(types["jdk.ExecutionSample"]/100)
	if profiler == recipe.ProfilerJFR && r.feature >= 25 {
		mostWrong = 0
	}
	for _, m := range v.Mismatches {
		at := len(m.GetSuspect().GetFrames()) - 1 - int(m.GetDivergence())
		if at < mostDead && m.GetSuspect().GetSampler() == "jdk.ExecutionSample" {
			wrong += m.GetCount()
			t.Log("wrong", at, "from the top", m.GetSuspect().GetFrames()[:at+2])
			continue
		}
		t.Error(m.GetCount(), m.GetSuspect().GetSampler(), m.GetSuspect().GetFrames()[at:at+2], m.GetReference().GetFrames()[:1])
	}
	require.Greater(t, v.Count.GetTotal(), uint64(10000))
	require.Greater(t, v.Count.GetMatch(), v.Count.GetTotal()*8/10)
	require.Equal(t, wrong, v.Count.GetMismatch())
	require.LessOrEqual(t, wrong, mostWrong)
	return j
}

func TestEdgesOfAllEventsOfJFRArePossible(t *testing.T) {
	settings, err := filepath.Abs("testdata/all.jfc")
	require.NoError(t, err)
	classes := compiled(t)
	for _, name := range []string{"jdk8", "jdk11", "jdk17", "jdk21", "jdk25", "jdk28"} {
		for mode, o := range map[string]agent.Options{
			"as it is": {},
			"instrumented": {
				Ratio: 1, Exclude: []string{"jdk.*", "sun.*"}, Checks: map[string]float64{"shadow-gst": 0.001},
			},
		} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				dir := t.TempDir()
				file := filepath.Join(dir, "r.jfr")
				r := run(t, testenv.Catalogued(t, name), classes, o, dir, file,
					"-XX:StartFlightRecording=filename="+file+",settings="+settings, "-XX:FlightRecorderOptions=stackdepth=1024")
				v := requirePossible(t, r, recipe.ProfilerJFR).Verdicts()
				assert.NotZero(t, v.Count.GetTolerated()["vm-upcall"])
				assert.NotZero(t, v.Count.GetTolerated()["method-handle"])
				assert.NotZero(t, v.Count.GetTolerated()["native-caller"])
				requireFaultsSeen(t, r, recipe.ProfilerJFR)
				// jdk.MethodTrace retransforms a class that was there before (JEP 520): both versions are known.
				versions := r.program.method("java.util.HashMap", "merge",
					"(Ljava/lang/Object;Ljava/lang/Object;Ljava/util/function/BiFunction;)Ljava/lang/Object;")
				assert.Equal(t, testenv.Catalogued(t, name).Feature >= 25, len(versions) > 1, "%d versions", len(versions))
			})
		}
	}
}

// The library is async-profiler's; MISSTEP_ASYNC_PROFILER names it.
func TestEdgesOfAsyncProfilerArePossible(t *testing.T) {
	library := os.Getenv("MISSTEP_ASYNC_PROFILER")
	if library == "" {
		t.Skip("MISSTEP_ASYNC_PROFILER does not name a libasyncProfiler.so")
	}
	classes := compiled(t)
	for _, name := range []string{"jdk17", "jdk25"} {
		for _, walker := range []string{"vm", "vmx", "no"} {
			t.Run(name+"/"+walker, func(t *testing.T) {
				dir := t.TempDir()
				file := filepath.Join(dir, "r.jfr")
				r := run(t, testenv.Catalogued(t, name), classes, agent.Options{}, dir, file,
					"-agentpath:"+library+"=start,event=ctimer,interval=500us,alloc=1k,cstack="+walker+",jfr,file="+file)
				requirePossible(t, r, recipe.ProfilerAsync)
			})
		}
	}
}
