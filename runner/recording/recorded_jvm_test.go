package recording

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/internal/testenv"
)

// helper returns the built helper under JDK 17.
func helper(t *testing.T) Helper {
	t.Helper()
	jar := filepath.Join(testenv.Root(), "build", "recording", "misstep-recording.jar")
	if _, err := os.Stat(jar); err != nil {
		t.Skipf("the helper that reads recordings is not built (%v); run make recording", err)
	}
	return Helper{Java: testenv.Catalogued(t, "jdk17").Tool("java"), Jar: jar}
}

// reading reads a recording.
type reading func(ctx context.Context, file string, limits Limits, visit func(Record) error) (Summary, error)

// readers are the own one and the helper, by name.
func readers(t *testing.T) map[string]reading {
	t.Helper()
	h := helper(t)
	return map[string]reading{
		"own": Parse,
		"helper": func(ctx context.Context, file string, limits Limits, visit func(Record) error) (Summary, error) {
			summary, _, err := h.Read(ctx, file, limits, visit)
			return summary, err
		},
	}
}

// compileRecorded compiles testdata/Recorded.java into a folder.
func compileRecorded(t *testing.T, dir string) {
	t.Helper()
	output, err := exec.Command(testenv.Javac(t), "--release", "8", "-Xlint:-options", "-d", dir,
		"testdata/Recorded.java").CombinedOutput()
	require.NoError(t, err, "%s", output)
}

// record runs testdata/Recorded.java under JFR for some milliseconds and returns the recording.
func record(t *testing.T, j testenv.JDK, milliseconds int, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	compileRecorded(t, dir)
	settings, err := filepath.Abs("testdata/samples.jfc")
	require.NoError(t, err)
	file := filepath.Join(dir, "recorded.jfr")
	arguments := append([]string{
		"-Xmx200m", "-XX:StartFlightRecording=filename=" + file + ",settings=" + settings, "-cp", dir,
	}, flags...)
	output, err := exec.Command(j.Tool("java"), append(arguments, "Recorded", strconv.Itoa(milliseconds))...).CombinedOutput()
	require.NoError(t, err, "%s", output)
	return file
}
