package jvm

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/bundle"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/workloads"
)

// A bundle of a crash under a profiler needs a JDK and nothing else: its script starts the profiler that the bundle has.
func TestBundleRunsUnderItsProfiler(t *testing.T) {
	everyProfiler(t, func(t *testing.T, s *stand, feature int, name string) {
		r := profiled(feature, name, "after", "1500", "crash")
		r.Checks = nil
		workload, err := fixture()
		require.NoError(t, err)
		manifest, err := workloads.Load(workload)
		require.NoError(t, err)
		command, err := BundleCommand(r, workload, manifest)
		require.NoError(t, err)
		files := t.TempDir()
		has, err := BundleProfiler(r, s.Profilers, files)
		require.NoError(t, err)
		require.True(t, has)
		var zip bytes.Buffer
		require.NoError(t, bundle.Write(t.Context(), &zip, bundle.Contents{
			Workload: workload, Agent: t.TempDir(), Profiler: files, Command: command,
			Reproducer: &misstepv1.Reproducer{Recipe: r, Finding: &misstepv1.Finding{
				Id: "F0", Signature: &misstepv1.Signature{Kind: "crash"},
				Example: &misstepv1.Outcome{Crash: &misstepv1.Crash{Error: "SIGSEGV (0xb)"}},
			}},
		}))
		file, dir, temporary := filepath.Join(t.TempDir(), "b.zip"), t.TempDir(), t.TempDir()
		require.NoError(t, os.WriteFile(file, zip.Bytes(), 0o600))
		b, err := bundle.Open(file)
		require.NoError(t, err)
		require.NoError(t, b.Extract(filepath.Join(dir, "b")))

		script := exec.CommandContext(t.Context(), "bash", filepath.Join(dir, "b", "run.sh"), "-n", "1", "-k", jdks()[feature])
		script.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + temporary}
		output, err := script.CombinedOutput()
		require.NoError(t, err, string(output))
		require.Contains(t, string(output), "1 of 1 tries reproduced finding F0")
		made, err := filepath.Glob(filepath.Join(temporary, "*", "try-1", "agent", map[string]string{
			"jfr": "repository/*/*.jfr", "async-profiler": "async-profiler.jfr",
		}[name]))
		require.NoError(t, err)
		require.NotEmpty(t, made, string(output))
	})
}

func TestBundleNeedsTheProfilersLibrary(t *testing.T) {
	r := &misstepv1.Recipe{Profiler: &misstepv1.Profiler{Name: "async-profiler"}}
	_, err := BundleProfiler(r, t.TempDir(), t.TempDir())
	require.ErrorContains(t, err, "the bundle needs the profiler async-profiler")
	require.ErrorContains(t, err, "make profilers")
	has, err := BundleProfiler(&misstepv1.Recipe{}, "", t.TempDir())
	require.NoError(t, err)
	require.False(t, has)
}
