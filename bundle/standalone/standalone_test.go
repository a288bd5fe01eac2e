package standalone

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/deploy/jdk"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

var update = flag.Bool("update", false, "rewrite testdata")

func finding(check, kind, where string) *misstepv1.Finding {
	return &misstepv1.Finding{
		Id:        "F0123456789ab",
		KnownAs:   "JDK-8303444",
		Signature: &misstepv1.Signature{Kind: "mismatch", Parts: []string{check, kind, where}},
	}
}

func TestGolden(t *testing.T) {
	files, err := Generate(
		finding("gst-asgct", "truncated", "upcall <clinit>"),
		[]string{"-Xmx1g", "-XX:TieredStopAtLevel=1", "-Xcomp", "-XX:+UseZGC"},
	)
	require.NoError(t, err)
	for _, f := range files {
		if f.Name == "libWalkerTest.cpp" {
			continue // as it is
		}
		golden := filepath.Join("testdata", "golden."+f.Name)
		if *update {
			require.NoError(t, os.WriteFile(golden, f.Text, 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(f.Text))
	}
}

func TestWhatHasNoTestSaysWhy(t *testing.T) {
	for _, f := range []*misstepv1.Finding{
		finding("asgct-shadow", "truncated", "upcall <clinit>"),
		finding("gst-asgct", "truncated", "A.m <- B.n"),
		finding("gst-asgct", "wrong-bci", "upcall <clinit>"),
		finding("gst-asgct", "truncated", "upcall transform"),
		{Signature: &misstepv1.Signature{Kind: "crash", Parts: []string{"V frame::sender"}}},
		{},
	} {
		_, err := Generate(f, nil)
		var unserved *UnservedError
		require.ErrorAs(t, err, &unserved)
		assert.NotEmpty(t, unserved.Why)
	}
}

func TestNoTextOfAFindingEndsAComment(t *testing.T) {
	f := finding("gst-asgct", "truncated", "upcall <clinit>")
	f.Id, f.KnownAs = "F1*/ evil\n$(evil)", "JDK-8303444\n * @run shell evil"
	files, err := Generate(f, []string{"-Xcomp", "-XX:TieredStopAtLevel=1\n * @run shell evil", "-Xcomp; evil"})
	require.NoError(t, err)
	for _, f := range files {
		assert.NotContains(t, string(f.Text), "*/ evil")
		assert.NotContains(t, string(f.Text), "shell evil")
		assert.NotContains(t, string(f.Text), "; evil")
		assert.NotContains(t, string(f.Text), "$(evil)")
	}
}

// TestEachFamilyOnRealJDKs runs each test with its flags, where it must fail, and interpreted, where it must pass: the walker loses
// its way below a compiled frame's stub only. A virtual thread's frozen frames are lost in any mode.
func TestEachFamilyOnRealJDKs(t *testing.T) {
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("no g++ here; deploy/setup/install.sh installs it")
	}
	for _, name := range []string{"jdk17", "jdk25"} {
		jdk, err := jdk.Open(testenv.Home(t)).Get(name)
		require.NoError(t, err)
		for where := range families {
			if name == "jdk17" && where != upcall("<clinit>") {
				continue // for the time of CI; docs/figures/0009-bundles.md says what was watched elsewhere
			}
			t.Run(name+" "+where.String(), func(t *testing.T) {
				dir := write(t, finding("gst-asgct", "truncated", where.String()), "-Xcomp", "-XX:TieredStopAtLevel=1")
				code, output := run(t, dir, jdk.Path)
				require.Equal(t, 1, code, output)
				assert.Contains(t, output, "AsyncGetCallTrace")
				assert.Contains(t, output, "=>")
				code, output = run(t, dir, jdk.Path, "-Xint")
				if where.Kind == signature.Continuation {
					require.Equal(t, 1, code, output)
				} else {
					require.Equal(t, 0, code, output)
					assert.Contains(t, output, "passed")
				}
			})
		}
	}
}

func TestTheScriptSaysWhatItLacks(t *testing.T) {
	dir := write(t, finding("gst-asgct", "truncated", "upcall <clinit>"))
	for want, arguments := range map[string][]string{
		"usage: run.sh JDK":      nil,
		"is not a folder":        {"/nowhere"},
		"has no bin/javac: name": {t.TempDir()},
	} {
		code, output := run(t, dir, arguments...)
		assert.Equal(t, 2, code)
		assert.Contains(t, output, want)
	}
}

func write(t *testing.T, f *misstepv1.Finding, flags ...string) string {
	t.Helper()
	files, err := Generate(f, flags)
	require.NoError(t, err)
	dir := t.TempDir()
	for _, f := range files {
		mode := os.FileMode(0o644)
		if f.Executable {
			mode = 0o755
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, f.Name), f.Text, mode))
	}
	return dir
}

func run(t *testing.T, dir string, arguments ...string) (int, string) {
	t.Helper()
	run := append([]string{filepath.Join(dir, "run.sh")}, arguments...)
	output, err := exec.CommandContext(t.Context(), "bash", run...).CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), string(output)
	}
	require.NoError(t, err)
	return 0, string(output)
}
