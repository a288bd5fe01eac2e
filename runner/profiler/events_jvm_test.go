package profiler_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

var update = flag.Bool("update", false, "add to the table of JFR's events what it lacks of the JDKs of the catalogue")

// The table of JFR's events has every event and setting of every JDK of the catalogue, and takes its default value.
func TestJFREventsOfEachJDK(t *testing.T) {
	table := filepath.Join(testenv.Root(), "recipe", "jfr_events.txt")
	text, err := os.ReadFile(table)
	require.NoError(t, err)
	have := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		have[words[0]] = words[1:]
	}
	classes := t.TempDir()
	compile := exec.Command(testenv.Javac(t), "-source", "8", "-target", "8", "-Xlint:-options", "-d", classes,
		"testdata/Events.java")
	output, err := compile.CombinedOutput()
	require.NoError(t, err, string(output))
	for _, name := range []string{"jdk8", "jdk11", "jdk17", "jdk21", "jdk25", "jdk26", "jdk27", "jdk28"} {
		t.Run(name, func(t *testing.T) {
			output, err := exec.Command(testenv.Catalogued(t, name).Tool("java"), "-cp", classes, "Events").Output()
			require.NoError(t, err)
			require.Greater(t, strings.Count(string(output), "\n"), 80, "events")
			for line := range strings.Lines(string(output)) {
				event, settings, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
				noteEvent(t, have, event, strings.Split(settings, "\t"))
			}
		})
	}
	if *update {
		lines := make([]string, 0, len(have))
		for event, settings := range have {
			slices.Sort(settings)
			lines = append(lines, strings.Join(append([]string{event}, settings...), " ")+"\n")
		}
		slices.Sort(lines)
		require.NoError(t, os.WriteFile(table, []byte(strings.Join(lines, "")), 0o644))
	}
}

// noteEvent checks that a recipe may give each setting of an event its default, or adds what the table lacks.
func noteEvent(t *testing.T, have map[string][]string, event string, settings []string) {
	if !strings.HasPrefix(event, "jdk.") {
		return // of a library, such as jdk.management
	}
	for _, setting := range settings {
		name, value, _ := strings.Cut(setting, "=")
		if *update {
			if _, known := have[event]; !known {
				have[event] = nil
			}
			if name != "enabled" && !slices.Contains(have[event], name) {
				have[event] = append(have[event], name)
			}
			continue
		}
		option := event + "#" + name + "=" + value
		if value == "" || slices.Contains([]string{"jdk.ExecutionSample#period", "jdk.NativeMethodSample#period", "jdk.CPUTimeSample#throttle"},
			event+"#"+name) {
			continue // without a value, or reserved
		}
		err := recipe.ValidateProfiler(&misstepv1.Profiler{Name: recipe.ProfilerJFR, Options: []string{option}})
		assert.NoError(t, err, "%s; go test ./runner/profiler -run JFREvents -update adds it", option)
	}
}
