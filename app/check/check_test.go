package check

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/agent"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/jvm"
)

func write(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, nil, 0o755))
}

func TestHomeOfALauncher(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, file := range []string{
		"jdk17/bin/java", "jdk17/bin/javac", "jdk17/lib/modules", "jdk8/bin/java", "jdk8/jre/bin/java", "jdk8/jre/lib/rt.jar",
		"jre8/bin/java", "jre8/lib/rt.jar", "other/bin/java",
	} {
		write(t, filepath.Join(dir, file))
	}
	require.NoError(t, os.Symlink(filepath.Join(dir, "jdk17/bin/java"), filepath.Join(dir, "my-java")))
	for path, want := range map[string]string{
		"jdk17/bin/java": "jdk17", "my-java": "jdk17", "jdk8/bin/java": "jdk8", "jdk8/jre/bin/java": "jdk8", "jre8/bin/java": "jre8",
		"jdk17/bin/javac": "", "other/bin/java": "", "missing/bin/java": "",
	} {
		if want != "" {
			want = filepath.Join(dir, want)
		}
		assert.Equal(t, want, homeOf(filepath.Join(dir, path)), path)
	}
}

func TestFlagsEndBeforeTheProgram(t *testing.T) {
	for _, c := range []struct{ args, want []string }{
		{[]string{"-Xmx1g", "-cp", "a:b", "-ea", "Main", "-Xint"}, []string{"-Xmx1g", "-cp=a:b", "-ea"}},
		{[]string{"-XX:+UseSerialGC", "-jar", "app.jar", "-XX:X"}, []string{"-XX:+UseSerialGC"}},
		{[]string{"@file", "--patch-module", "java.base=x", "-m", "a/b"}, []string{"--patch-module=java.base=x"}},
		{[]string{"-cp"}, []string{"-cp"}},
		{nil, nil},
	} {
		assert.Equal(t, c.want, flagsOf(c.args), "%q", c.args)
	}
}

func names(r *misstepv1.Recipe) (all []string) {
	for _, c := range r.GetChecks() {
		all = append(all, c.GetName())
	}
	return all
}

func TestRecipes(t *testing.T) {
	jfr := &misstepv1.Profiler{Name: recipe.ProfilerJFR}
	for _, c := range []struct {
		name string
		Selection
		want []string
	}{
		{
			"default",
			Selection{Ratio: 1},
			[]string{recipe.GstAsgct, recipe.ShadowGst, recipe.AsgctShadow, recipe.Edges, recipe.Liveness},
		},
		{"light", Selection{Ratio: 1, Light: true}, []string{recipe.AsgctGstBracket, recipe.Edges, recipe.Liveness}},
		{
			"light and JFR",
			Selection{Ratio: 1, Light: true, Profiler: jfr},
			[]string{recipe.AsgctGstBracket, recipe.Edges, recipe.Liveness, recipe.JfrChunks, recipe.EventEdges},
		},
		{
			"JFR",
			Selection{Ratio: 1, Profiler: jfr},
			[]string{
				recipe.GstAsgct, recipe.ShadowGst, recipe.AsgctShadow, recipe.Edges, recipe.Liveness, recipe.JfrShadow,
				recipe.JfrChunks, recipe.EventEdges,
			},
		},
		{"chosen", Selection{Ratio: 0.5, Checks: []string{"gst-asgct=0.25"}}, []string{recipe.GstAsgct}},
	} {
		r, err := c.recipe(&misstepv1.Jdk{Name: "jdk17"}, []string{"-Xint"})
		require.NoError(t, err, c.name)
		assert.Equal(t, c.want, names(r), c.name)
		assert.Equal(t, []string{"-Xint"}, r.GetJvmFlags(), c.name)
		assert.Equal(t, !c.Light, r.GetInstrumentation().GetRatio() > 0, c.name)
	}
	r, err := Selection{Ratio: 0.5, Checks: []string{"gst-asgct=0.25"}}.recipe(nil, nil)
	require.NoError(t, err)
	assert.InEpsilon(t, 0.25, r.GetChecks()[0].GetShare(), 1e-9)
	assert.Nil(t, r.GetSampling(), "no check takes signals")
}

func TestSelectionsThatAreRefused(t *testing.T) {
	for want, s := range map[string]Selection{
		`"gst-asgc" is unknown`:          {Ratio: 1, Checks: []string{"gst-asgc"}},
		"gst-asgct=2x: expected a share": {Ratio: 1, Checks: []string{"gst-asgct=2x"}},
		"which --light does without":     {Light: true, Checks: []string{"gst-asgct"}},
		"judges recordings of jfr":       {Ratio: 1, Checks: []string{"jfr-chunks"}},
		"a duration from 10µs to 1m0s":   {Ratio: 1, Interval: time.Nanosecond},
	} {
		_, err := s.recipe(nil, nil)
		require.ErrorContains(t, err, want)
	}
}

func TestConflictsAreTold(t *testing.T) {
	patched := &misstepv1.Recipe{
		JvmFlags: []string{"--patch-module=java.base=x.jar"}, Instrumentation: &misstepv1.Instrumentation{Ratio: 1},
	}
	require.ErrorContains(t, conflict(patched, "", nil), "check it with --light")
	for flag, refused := range map[string]bool{
		"-Djava.security.manager": true, "-Djava.security.manager=a.B": true, "-Djava.security.manager=allow": false,
		"-Djava.security.manager=disallow": false, "-Djava.security.managers": false,
	} {
		r := &misstepv1.Recipe{JvmFlags: []string{flag}, Instrumentation: &misstepv1.Instrumentation{Ratio: 1}}
		assert.Equal(t, refused, conflict(r, "", nil) != nil, flag)
		r.JvmFlags = nil
		assert.Equal(t, refused, conflict(r, "", []string{flag}) != nil, flag)
		r.Instrumentation = nil
		require.NoError(t, conflict(r, "", []string{flag}), flag)
	}
	patched.Instrumentation = nil
	require.NoError(t, conflict(patched, "", nil))
	loaded := []string{"-agentpath:/x/libmisstep.so=out=/tmp", "Main"}
	require.ErrorContains(t, conflict(&misstepv1.Recipe{}, "", loaded), "remove its -agentpath")
	variables := environmentOptions([]string{"A=-Xint", "JAVA_TOOL_OPTIONS=-Xrs " + loaded[0], "JDK_JAVA_OPTIONS=-Dx=y"})
	assert.Equal(t, []string{"-Xrs", loaded[0], "-Dx=y"}, variables)
	require.ErrorContains(t, conflict(&misstepv1.Recipe{}, "", variables), "or its environment")
}

// A runtime that jlink made has the modules that its program needs, which java.instrument is not.
func TestRuntimeWithoutInstrumentation(t *testing.T) {
	home := t.TempDir()
	instrumented := &misstepv1.Recipe{Instrumentation: &misstepv1.Instrumentation{Ratio: 1}}
	require.ErrorContains(t, conflict(instrumented, home, nil), "has no module java.instrument")
	require.NoError(t, conflict(&misstepv1.Recipe{}, home, nil))
	for _, folder := range []string{"lib", "jre/lib/amd64"} {
		home := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(home, folder), 0o755))
		write(t, filepath.Join(home, folder, "libinstrument.so"))
		require.NoError(t, conflict(instrumented, home, nil), folder)
	}
}

func TestAgentWithoutRoomForItsFiles(t *testing.T) {
	for _, of := range []string{jvm.AgentDir, "4711/" + jvm.AgentDir} {
		dir := t.TempDir()
		require.NoError(t, unwritten(dir))
		file := filepath.Join(dir, of, jvm.StatusFile)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, nil, 0o600))
		require.ErrorContains(t, unwritten(dir), "make room there")
		require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
		require.NoError(t, unwritten(dir))
	}
}

func TestFolderOfOut(t *testing.T) {
	dir, remove, err := folder(filepath.Join(t.TempDir(), "new", "one"))
	require.NoError(t, err)
	remove()
	require.DirExists(t, dir, "it stays")
	write(t, filepath.Join(dir, "x"))
	_, _, err = folder(dir)
	require.ErrorContains(t, err, "is not empty")
}

func TestTemporaryFolderWhereThereIsNoTmp(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	dir, remove, err := temporary()
	require.NoError(t, err)
	require.DirExists(t, dir)
	remove()
	require.NoDirExists(t, dir)
}

func TestOnlyErrorFilesOfThisProcessCount(t *testing.T) {
	dir := t.TempDir()
	old, to := filepath.Join(dir, "old"), filepath.Join(dir, "to")
	write(t, old)
	require.NoError(t, copySince(time.Now().Add(time.Hour), old, to))
	require.NoFileExists(t, to)
	require.NoError(t, copySince(time.Now().Add(-time.Hour), filepath.Join(dir, "missing"), to))
	require.NoFileExists(t, to)
	pipe := filepath.Join(dir, "pipe") // that nobody writes to
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, copySince(time.Now().Add(-time.Hour), pipe, to))
	require.NoFileExists(t, to)
	require.NoError(t, copySince(time.Now().Add(-time.Hour), old, to))
	require.FileExists(t, to)
	assert.Contains(t, errorFiles([]string{"-Xint", "-XX:ErrorFile=/x/e%p"}, "", 7), "/x/e7")
	assert.Contains(t, errorFiles([]string{"-XX:ErrorFile=e%p"}, "/srv/app", 7), "/srv/app/e7")
	assert.Contains(t, errorFiles(nil, "/srv/app", 7), "/srv/app/hs_err_pid7.log")
}

func trace(source string, methods ...string) *misstepv1.Trace {
	tr := &misstepv1.Trace{Source: source, NumFrames: int32(len(methods))}
	for _, m := range methods {
		tr.Frames = append(tr.Frames, &misstepv1.Frame{ClassName: "a.B", Method: m, Descriptor_: "()V"})
	}
	return tr
}

func TestReportSaysWhatTheAgentCouldNot(t *testing.T) {
	r := &Report{}
	r.observe(agent.Status{Instrumented: 9, Sent: 100, Answered: 90})
	assert.Equal(t, uint64(9), r.Instrumented)
	assert.Empty(t, r.Notes)
	r.observe(agent.Status{Failed: 1, Sent: 100, Answered: 10})
	require.Len(t, r.Notes, 2)
	assert.Contains(t, r.Notes[0], "classes that could not be instrumented: 1")
	assert.Contains(t, r.Notes[1], "of 100 signals of the sampler only 10 were answered")
}

func TestReportSaysWhatABugCosts(t *testing.T) {
	cut := &misstepv1.Mismatch{
		Check: recipe.AsgctShadow, Kind: "truncated", Count: 10, Divergence: 2,
		Reference: trace("shadow", "c", "<clinit>", "b", "a"), Suspect: trace("asgct", "c", "<clinit>"),
	}
	wrong := &misstepv1.Mismatch{
		Check: recipe.AsgctShadow, Kind: "foreign", Count: 5, Divergence: 1,
		Reference: trace("shadow", "b", "a"), Suspect: trace("asgct", "x", "a"),
	}
	o := &misstepv1.Outcome{
		Kind: misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES, Mismatches: []*misstepv1.Mismatch{cut, wrong},
		Checks: []*misstepv1.CheckCount{
			{Check: recipe.GstAsgct, Total: 7, Match: 7},
			{
				Check: recipe.AsgctShadow, Total: 120, Match: 65, Mismatch: 15, Unwalkable: map[int32]uint64{-2: 20},
				Void: map[string]uint64{"exit": 20},
			},
		},
	}
	side := jvm.Alongside{Recipe: &misstepv1.Recipe{Jdk: &misstepv1.Jdk{Version: "17.0.1"}}}
	r := report([]string{"java"}, 7, side, o, known.Catalogue{})
	assert.Equal(t, []Profile{
		{Check: recipe.AsgctShadow, Walker: recipe.WalkerAsgct, Samples: 100, Wrong: 0.05, CutOff: 0.1, Lost: 0.2},
	}, r.Profiles)
	require.Len(t, r.Bugs, 2)
	assert.Equal(t, uint64(10), r.Bugs[0].Count, "the most frequent first")
	assert.InEpsilon(t, 0.1, r.Bugs[0].CutOff, 1e-9)
	assert.Zero(t, r.Bugs[0].Wrong)
	assert.Equal(t, []string{"truncated"}, r.Bugs[0].Kinds)
	assert.InEpsilon(t, 0.05, r.Bugs[1].Wrong, 1e-9)
	assert.Zero(t, r.Bugs[1].CutOff)
	assert.True(t, r.Found())
	assert.True(t, r.Proved())

	nothing := &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_VOID, Reason: "nothing"}
	r = report([]string{"java"}, 7, jvm.Alongside{Recipe: &misstepv1.Recipe{}}, nothing, known.Catalogue{})
	assert.False(t, r.Proved())
	assert.False(t, r.Found())
	assert.False(t, r.New())
}

// Lists without elements are [] for those who read the JSON, and not null.
func TestListsOfAReportAreNeverNull(t *testing.T) {
	text, err := json.Marshal(report(nil, 7, jvm.Alongside{Recipe: &misstepv1.Recipe{}}, &misstepv1.Outcome{}, known.Catalogue{}))
	require.NoError(t, err)
	for _, list := range []string{"checks", "profiles", "bugs"} {
		assert.Contains(t, string(text), `"`+list+`":[]`)
	}
}
