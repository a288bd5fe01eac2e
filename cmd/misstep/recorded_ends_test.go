package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/app/station"
	"misstep/coordinator"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/jvm"
)

// needsRecordings skips the test where what reads recordings, or a profiler that JDKs do not contain, was not built.
func needsRecordings(t *testing.T) {
	t.Helper()
	for _, file := range []string{"profilers/libasyncProfiler.so", "recording/misstep-recording.jar"} {
		if _, err := os.Stat(filepath.Join(testenv.Root(), "build", file)); err != nil {
			t.Skipf("%v; run make recording profilers", err)
		}
	}
}

// ending is a program of many threads that start, allocate, park and end; after two seconds it crashes or hangs.
const ending = `
import java.util.concurrent.locks.LockSupport;

public class Ending {
  static volatile Object sink;
  static int depth(int n) {
    sink = new byte[16];
    return n == 0 ? 0 : 1 + depth(n - 1);
  }
  static void burst() {
    for (int i = 0; i < 200; i++) {
      depth(i % 50);
      LockSupport.parkNanos(1000);
    }
  }
  public static void main(String[] args) throws Exception {
    java.lang.reflect.Field field = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
    field.setAccessible(true);
    sun.misc.Unsafe unsafe = (sun.misc.Unsafe) field.get(null);
    for (long end = System.nanoTime() + 2_000_000_000L; System.nanoTime() < end; ) {
      Thread[] threads = new Thread[16];
      for (int i = 0; i < threads.length; i++) {
        threads[i] = new Thread(Ending::burst);
        threads[i].start();
      }
      for (Thread thread : threads) {
        thread.join();
      }
    }
    if (args[0].equals("crash")) {
      unsafe.putAddress(0, 0);
    }
    hang(10);
  }
  static void hang(int n) {
    if (n > 0) {
      hang(n - 1);
    }
    while (n == 0) { // at one place, below which samplers find frames
      sink = new byte[16];
    }
  }
}`

// A JVM that crashes or hangs under JFR at its highest rates and in its smallest buffers is a finding like any other: the recipe
// and the bundle have the profiler, what was recorded until then is judged and kept, and the bundle repeats it.
func TestEndsUnderJFRAreFindings(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute; run without -short")
	}
	needsRecordings(t)
	stressed := smallestBuffers(t)
	home := ownWorkload(t, "ending", "Ending", ending)
	dir := filepath.Join(t.TempDir(), "hunt")
	status := runHunt(t, home, dir, `
name: ends
jdks: [jdk17, jdk25]
workloads: [{name: ending, arguments: [crash]}, {name: ending, arguments: [hang]}]
profiler:
  - {name: jfr, interval: `+stressed.GetInterval().AsDuration().String()+`, options: ["`+
		strings.Join(stressed.GetOptions(), `", "`)+`"]}
checks: [{name: jfr-chunks}, {name: event-edges}, {name: liveness}]
limits: {wall: 10s}
budget: {trials: 4}
`, "--slots", "2")
	require.Equal(t, map[string]uint64{"crash": 2, "hang": 2}, status.GetOutcomes())
	st, err := station.Embed(dir, coordinator.Config{})
	require.NoError(t, err)
	defer st.Close()
	for _, trial := range trialsOf(t, st, status.GetId()) {
		o, on := trial.GetOutcome(), trial.GetRecipe().GetJdk().GetName()
		for _, c := range o.GetChecks() {
			t.Logf("%s on %s: %v", o.GetKind(), on, c)
			if c.GetCheck() != recipe.Liveness {
				require.NotZero(t, c.GetMatch(), "%s of a %s on %s", c.GetCheck(), o.GetKind(), on)
			}
		}
	}
	response, err := st.ListFindings(t.Context(), &misstepv1.ListFindingsRequest{CampaignId: status.GetId()})
	require.NoError(t, err)
	seen := map[string]int{}
	for _, listed := range response.GetFindings() {
		whole, err := st.GetFinding(t.Context(), &misstepv1.GetFindingRequest{FindingId: listed.GetId()})
		require.NoError(t, err)
		f, kind := whole.GetFinding(), listed.GetSignature().GetKind()
		t.Logf("%s %s: %s, %d hits", f.GetId(), kind, f.GetTitle(), f.GetHits())
		if kind != "crash" && kind != "hang" {
			continue
		}
		seen[kind]++
		require.Equal(t, recipe.ProfilerJFR, f.GetExampleRecipe().GetProfiler().GetName())
		var kept []string
		for _, e := range f.GetExample().GetEvidence() {
			kept = append(kept, e.GetName())
		}
		require.Contains(t, kept, jvm.FileRecording)
		replayed(t, home, filepath.Join(dir, "bundles", f.GetId()+".zip"))
	}
	require.Contains(t, seen, "crash")
	require.Contains(t, seen, "hang")
}

// replayed repeats a bundle once, and asks that it carries the profiler's settings and that its script starts the profiler.
func replayed(t *testing.T, home, bundle string) {
	t.Helper()
	call := func(args ...string) string {
		var stdout, stderr strings.Builder
		require.Zero(t, run(t.Context(), append(args, "--home", home, "--agent", testenv.Agent(t)), &stdout, &stderr),
			"%v: %s%s", args, stdout.String(), stderr.String())
		return stdout.String()
	}
	require.Contains(t, call("bundle", "show", bundle, "run.sh"), "-XX:StartFlightRecording=")
	require.Contains(t, call("bundle", "show", bundle, "profiler/settings.jfc"), "jdk.CPUTimeSample")
	require.Contains(t, call("replay", bundle, "--tries", "1"), "1 of 1")
}
