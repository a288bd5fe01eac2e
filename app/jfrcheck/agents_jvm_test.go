package jfrcheck

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/internal/testenv"
	"misstep/recipe"
	"misstep/runner/recording"
)

// underAgent runs the program that is recorded elsewhere under an agent.
func underAgent(t *testing.T, d time.Duration, jar string, environment []string, options ...string) {
	t.Helper()
	dir := t.TempDir()
	output, err := exec.Command(testenv.Javac(t), "--release", "8", "-Xlint:-options", "-d", dir,
		filepath.Join(testenv.Root(), "runner", "judge", "edges", "testdata", "Events.java")).CombinedOutput()
	require.NoError(t, err, "%s", output)
	run := exec.CommandContext(t.Context(), testenv.Catalogued(t, "jdk17").Tool("java"), append(options, "-Xmx512m",
		"-javaagent:"+jar, "-cp", dir, "Events", fmt.Sprint(d.Milliseconds()))...)
	run.Env = append(os.Environ(), environment...)
	output, err = run.CombinedOutput()
	require.NoError(t, err, "%s", output)
}

// requireNoFaults checks a recording that an agent made, which has samples of these types.
func requireNoFaults(t *testing.T, file string, samplers ...string) {
	t.Helper()
	r, failed, err := Run(t.Context(), recording.Parse, Options{
		Files: []string{file}, JDK: testenv.Catalogued(t, "jdk17").Path, MaxBytes: 1 << 30, Top: 5,
	})
	require.NoError(t, err)
	require.Empty(t, failed)
	for _, f := range r.Faults {
		if f.Known == "" {
			t.Errorf("%s %s: %d × %s (%s)\n%v", f.Check, f.Kind, f.Count, f.Place, f.Detail, f.Stack)
		}
	}
	assert.Positive(t, checkOf(t, r, recipe.EventEdges).Right)
	var events []string
	for _, s := range r.Samplers {
		events = append(events, s.Event)
	}
	assert.Subset(t, events, samplers)
	t.Logf("%+v\ndoubts: %+v\nnotes: %v", r.Checks, r.Doubts, r.Notes)
}

// What Datadog's agent dumps has the chunks of JFR and, behind them, those of its own profiler.
func TestRecordingOfDatadogsAgent(t *testing.T) {
	jar := os.Getenv("MISSTEP_DATADOG_AGENT")
	if jar == "" {
		t.Skip("MISSTEP_DATADOG_AGENT names no jar file of com.datadoghq:dd-java-agent, which Maven Central has")
	}
	dir := t.TempDir()
	underAgent(t, 25*time.Second, jar, []string{"DD_SERVICE=misstep"},
		"-Ddd.trace.enabled=false", "-Ddd.profiling.enabled=true", "-Ddd.profiling.start-force-first=true",
		"-Ddd.profiling.start-delay=1", "-Ddd.profiling.upload.period=10", "-Ddd.profiling.debug.dump_path="+dir,
		"-Ddd.profiling.ddprof.wall.enabled=true")
	files, err := filepath.Glob(filepath.Join(dir, "*.jfr"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "the agent dumped no recording")
	for _, file := range files {
		requireNoFaults(t, file, "datadog.ExecutionSample", "datadog.MethodSample")
	}
}
