package bundle

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/signature"
)

// profiled is a bundle of a trial with a profiler; a finding of a recording's check when recorded is set.
func profiled(t *testing.T, recorded bool) (dir, jdk string) {
	t.Helper()
	c := sample(t)
	c.Profiler = t.TempDir()
	writeFile(t, filepath.Join(c.Profiler, "settings.jfc"), "<configuration/>", 0o644)
	c.Reproducer.Recipe.Profiler = &misstepv1.Profiler{Name: recipe.ProfilerJFR}
	c.Command.ProfilerFlags = []string{
		"-XX:StartFlightRecording=settings=" + Profiler + "/settings.jfc,filename=" + Out + "/it's.jfr",
	}
	if recorded {
		c.Reproducer.Finding.Signature.Parts[0] = recipe.JfrShadow
		c.Reproducer.Finding.Example.Mismatches[0].Check = recipe.JfrShadow
	}
	b, err := read(build(t, c))
	require.NoError(t, err)
	dir, jdk = filepath.Join(t.TempDir(), "an unpacked bundle"), t.TempDir()
	require.NoError(t, b.Extract(dir))
	writeFile(t, filepath.Join(jdk, "bin", "java"), benchJava, 0o755)
	writeFile(t, filepath.Join(jdk, "behaviour"), started+`printf '%s\n' "$@" >"$JAVA_HOME/arguments"`+"\n", 0o644)
	return dir, jdk
}

// The script starts the JVM under the profiler, whose files are in the bundle.
func TestRunScriptStartsTheProfiler(t *testing.T) {
	dir, jdk := profiled(t, false)
	out, _ := exec.Command("bash", filepath.Join(dir, "run.sh"), "-n", "1", jdk).CombinedOutput() // not reproduced
	arguments, err := os.ReadFile(filepath.Join(jdk, "arguments"))
	require.NoError(t, err, string(out))
	settings, filename, found := strings.Cut(string(arguments), ",filename=")
	require.True(t, found, string(arguments))
	_, settings, _ = strings.Cut(settings, "-XX:StartFlightRecording=settings=")
	assert.FileExists(t, settings)
	assert.Contains(t, filename, "/try-1/agent/it's.jfr\n")
	assert.DirExists(t, filepath.Join(dir, "jtreg"))
}

// The script cannot judge a recording: it says so before it works for nothing, and makes one when asked to keep it.
func TestRunScriptOfARecording(t *testing.T) {
	dir, jdk := profiled(t, true)
	run := func(arguments ...string) string {
		cmd := exec.Command("bash", append([]string{filepath.Join(dir, "run.sh")}, append(arguments, jdk)...)...)
		cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
		out, _ := cmd.CombinedOutput() // the exit code is looked at below
		assert.Equal(t, 2, cmd.ProcessState.ExitCode(), string(out))
		return string(out)
	}
	assert.Contains(t, run(), `the finding is in the recording of a profiler: "misstep replay"`)
	assert.NoFileExists(t, filepath.Join(jdk, "arguments"))
	kept := run("-k", "-n", "1")
	assert.FileExists(t, filepath.Join(jdk, "arguments"))
	assert.Contains(t, kept, "try 1 of 1: not judged, the recording is in ")
	assert.NotContains(t, kept, "not reproduced")
	assert.NoDirExists(t, filepath.Join(dir, "jtreg"), "it would prove nothing")
	for name, want := range map[string]string{
		"README.md": "misstep replay BUNDLE --jdk /path/to/jdk", "jbs.md": "It keeps the recording of a profiler",
	} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Contains(t, string(text), want)
		assert.NotContains(t, string(text), "jtreg", name)
	}
}

// What is wrong in a recording by itself is shown by its place and figures; of several it is the finding's.
func TestReportOfARecordingsFault(t *testing.T) {
	c := sample(t)
	c.Profiler = t.TempDir()
	writeFile(t, filepath.Join(c.Profiler, "settings.jfc"), "<configuration/>", 0o644)
	c.Reproducer.Recipe.Profiler = &misstepv1.Profiler{Name: recipe.ProfilerJFR}
	c.Command.ProfilerFlags = []string{"-XX:StartFlightRecording"}
	fault := func(field string) *misstepv1.Mismatch {
		return &misstepv1.Mismatch{
			Check: recipe.JfrChunks, Kind: recipe.KindUndefinedConstant, Count: 3, RecordingFault: &misstepv1.RecordingFault{
				Type: "java.lang.Thread", Referrer: "jdk.ThreadEnd", Field: field, Id: 7, Chunk: 2, Position: 99,
				Detail: "1 of the 63 ids",
			},
		}
	}
	c.Reproducer.Finding.Signature.Parts = signature.Mismatch{
		Check: recipe.JfrChunks, Difference: recipe.KindUndefinedConstant,
		Place: signature.Place{Kind: signature.Recorded, Method: "java.lang.Thread of jdk.ThreadEnd.thread"},
	}.Parts()
	c.Reproducer.Finding.Example.Mismatches = []*misstepv1.Mismatch{fault("other"), fault("thread")}
	b, err := read(build(t, c))
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "b")
	require.NoError(t, b.Extract(dir))
	for _, name := range []string{"README.md", "jbs.md"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Contains(t, string(text), "In the recording an event or a constant refers to a constant that its chunk does not define."+
			"\n\nCheck `jfr-chunks`, kind `undefined-constant`:\n\n```\njava.lang.Thread of jdk.ThreadEnd.thread\n1 of the 63 ids\n"+
			"first: id 7, at byte 99 of chunk 2\n```\n", name)
	}
}

// Where one of two traces has no bytecode indices, none differ.
func TestTracesWithoutPositions(t *testing.T) {
	at := func(source string, bci int32) *misstepv1.Trace {
		return &misstepv1.Trace{Source: source, Frames: []*misstepv1.Frame{{ClassName: "a.B", Method: "m", Bci: bci}}}
	}
	for _, c := range []struct {
		reference, suspect *misstepv1.Trace
		want               string
	}{
		{at("shadow", 0), at("jfr", 7), "  a.B.m                      a.B.m @7\n"},
		{at("held", -1), at("jdk.ExecutionSample", -1), "  a.B.m                                a.B.m\n"},
		{at("gst", 3), at("asgct", 7), "! a.B.m @3                a.B.m @7\n"},
	} {
		assert.Contains(t, sideBySide(c.reference, c.suspect), c.want)
	}
	assert.Contains(t, sideBySide(&misstepv1.Trace{Source: "held"}, &misstepv1.Trace{Source: "jfr", Sampler: "jdk.CPUTimeSample"}),
		"the stack that stood still, 0 frames JFR jdk.CPUTimeSample, 0 frames")
	long := &misstepv1.Trace{Source: "jfr", Sampler: strings.Repeat("s", 300)}
	long.Frames = []*misstepv1.Frame{{Method: strings.Repeat("m", 300)}}
	for line := range strings.Lines(sideBySide(long, long)) {
		assert.Less(t, utf8.RuneCountInString(line), 2*maxColumn+10, "whatever the names are")
	}
}

// A report names who can fix the suspect.
func TestComponentsOfSamplers(t *testing.T) {
	for check, want := range map[string]string{
		recipe.JfrShadow: "hotspot / jfr", recipe.JfrChunks: "hotspot / jfr", recipe.AsgctShadow: "hotspot / svc", "": "hotspot / svc",
		recipe.ShadowGst: "hotspot / jvmti", recipe.ProfilerShadow: "none of the JDK: report it to async-profiler",
	} {
		assert.Equal(t, want, component(Expect{Check: check}), check)
	}
}
