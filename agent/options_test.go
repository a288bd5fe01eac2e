package agent

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

func TestJVMArgs(t *testing.T) {
	out := t.TempDir()
	a := Artefacts{Library: "/a/libmisstep.so", Jar: "/a/misstep-agent.jar"}
	o := Options{
		Out: out, Seed: 7, Ratio: 0.25, Include: []string{"a.*", "b.C"}, Exclude: []string{"a.x.*"},
		Checks:   map[string]float64{"gst-asgct": 0.001, "asgct-shadow": 1, "liveness": 1},
		Interval: time.Millisecond, Jitter: 0.5, Signal: "SIGVTALRM", Depth: 512, Evidence: "every", MaxMismatches: 9,
		Liveness: 200 * time.Millisecond,
	}
	args, err := JVMArgs(a, "/p.jar", 25, o)
	require.NoError(t, err)
	require.Equal(t, []string{
		"--patch-module=java.base=/p.jar",
		"-agentpath:/a/libmisstep.so=out=" + out + ",seed=7,methods=0.25,include=a.*;b.C,exclude=a.x.*," +
			"gst-asgct=0.001,shadow-gst=0,asgct-shadow=1,liveness=200,interval=1000,jitter=0.5,signal=SIGVTALRM,depth=512," +
			"evidence=every,max-mismatches=9",
		"-javaagent:/a/misstep-agent.jar",
	}, args)
	args, err = JVMArgs(a, "/p.jar", 8, o)
	require.NoError(t, err)
	require.Equal(t, "-Xbootclasspath/p:/p.jar", args[0])
	o = Options{Out: out, Checks: map[string]float64{"asgct-gst-bracket": 1}, Burst: 2, Threads: "name:pool-*"}
	args, err = JVMArgs(a, "", 25, o)
	require.NoError(t, err)
	require.Equal(t, []string{"-agentpath:/a/libmisstep.so=out=" + out + ",seed=0,gst-asgct=0,shadow-gst=0,asgct-shadow=0," +
		"asgct-gst-bracket=1,liveness=0,burst=2,threads=name:pool-*"}, args, "nothing to instrument")
	o = Options{
		Out: out, Ratio: 1, Only: []string{"a/B.x()V"}, Checks: map[string]float64{"liveness": 1},
		Interval: time.Millisecond, Jitter: 0.5, Signal: "SIGIO",
	}
	args, err = JVMArgs(a, "", 25, o)
	require.NoError(t, err)
	require.Equal(t, []string{"-agentpath:/a/libmisstep.so=out=" + out + ",seed=0,gst-asgct=0,shadow-gst=0,asgct-shadow=0"}, args,
		"no signal either")
}

func TestJVMArgsWritesTheListOfMethods(t *testing.T) {
	out := t.TempDir()
	args, err := JVMArgs(Artefacts{}, "/p.jar", 17, Options{
		Out: out, Ratio: 1, Only: []string{"a/B.x(I)V", "a/B.y()V"}, Checks: map[string]float64{"gst-asgct": 1},
	})
	require.NoError(t, err)
	path := filepath.Join(out, "only.txt")
	require.Contains(t, args[1], ",only="+path)
	for _, choice := range []string{"methods=", "include=", "exclude="} {
		require.NotContains(t, args[1], choice)
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "a/B.x(I)V\na/B.y()V\n", string(text))
}

// Without instrumented methods the Java half starts only the thread that takes stack traces.
func TestJVMArgsOfStackTraces(t *testing.T) {
	a := Artefacts{Library: "/a/libmisstep.so", Jar: "/a/misstep-agent.jar"}
	for name, c := range map[string]struct {
		options Options
		last    string
		count   int
	}{
		"alone":   {Options{Out: "/o", Stacks: 5 * time.Millisecond}, "-javaagent:/a/misstep-agent.jar=stacks-only", 2},
		"methods": {Options{Out: "/o", Ratio: 1, Tap: "prof", Stacks: 5 * time.Millisecond}, "-javaagent:/a/misstep-agent.jar", 3},
	} {
		t.Run(name, func(t *testing.T) {
			args, err := JVMArgs(a, "/p.jar", 17, c.options)
			require.NoError(t, err)
			require.Len(t, args, c.count)
			require.Equal(t, c.last, args[c.count-1])
			require.Contains(t, args[c.count-2], ",stacks=5000")
		})
	}
}

func TestStackTracesOfARecipe(t *testing.T) {
	profiler := func(interval time.Duration) *misstepv1.Profiler {
		return &misstepv1.Profiler{Name: recipe.ProfilerJFR, Interval: durationpb.New(interval)}
	}
	checks := []*misstepv1.Check{{Name: recipe.Samplers}}
	for _, c := range []struct {
		recipe *misstepv1.Recipe
		want   time.Duration
	}{
		{&misstepv1.Recipe{Profiler: profiler(20 * time.Millisecond), Checks: checks}, 20 * time.Millisecond},
		{&misstepv1.Recipe{Profiler: profiler(time.Millisecond), Checks: checks}, leastStacks},
		{&misstepv1.Recipe{Profiler: profiler(0), Checks: checks}, recipe.DefaultProfilerInterval},
		{&misstepv1.Recipe{Profiler: profiler(time.Millisecond), Checks: []*misstepv1.Check{{Name: recipe.JfrChunks}}}, 0},
	} {
		require.Equal(t, c.want, OptionsOf(c.recipe, "/o").Stacks, c.recipe)
	}
}

func TestJVMArgsRefuses(t *testing.T) {
	out := t.TempDir()
	for name, o := range map[string]Options{
		"not absolute":                          {Out: "relative"},
		"comma":                                 {Out: out + ",x"},
		"white space":                           {Out: out, Include: []string{"a b"}},
		"equals sign":                           {Out: out, Threads: "name:a=b"},
		"has a comma, equals":                   {Out: out, Evidence: "every,out=/x"},
		"semicolon":                             {Out: out, Exclude: []string{"a;b"}},
		"line break":                            {Out: out, Only: []string{"a\nb"}},
		"leave include, exclude and leaves out": {Out: out, Only: []string{"a"}, Exclude: []string{"b"}},
		"unknown check":                         {Out: out, Checks: map[string]float64{"nonsense": 1}},
		"write the list": {
			Out: filepath.Join(out, "missing"), Only: []string{"a"}, Checks: map[string]float64{"gst-asgct": 1},
		},
	} {
		_, err := JVMArgs(Artefacts{}, "/p.jar", 17, o)
		require.ErrorContains(t, err, name)
	}
	_, err := JVMArgs(Artefacts{}, "/p.jar", 7, Options{Out: out})
	require.ErrorContains(t, err, "older than 8")
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	_, err := Find(dir)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "make agent")
	require.NoError(t, os.WriteFile(filepath.Join(dir, LibraryName), []byte("so"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, JarName), []byte("jar"), 0o644))
	a, err := Find(dir)
	require.NoError(t, err)
	require.Regexp(t, `^sha256:[0-9a-f]{64}$`, a.Digest)
	require.NoError(t, os.WriteFile(filepath.Join(dir, JarName), []byte("jar2"), 0o644))
	b, err := Find(dir)
	require.NoError(t, err)
	require.NotEqual(t, a.Digest, b.Digest)
}

func TestPrepare(t *testing.T) {
	dir := t.TempDir()
	cache := filepath.Join(dir, "cache")
	// This launcher writes the patch jar.
	java := filepath.Join(dir, "java")
	require.NoError(t, os.WriteFile(java, []byte("#!/bin/sh\necho patch > \"$4\"\n"), 0o755))
	a := Artefacts{Jar: "agent.jar", Digest: "sha256:0123456789abcdef0123"}
	path, err := Prepare(t.Context(), a, java, 17, cache, "sha256:fedcba9876543210ffff")
	require.NoError(t, err)
	require.Equal(t, filepath.Join(cache, "jdk17-fedcba9876543210-0123456789abcdef.jar"), path)
	require.NoError(t, os.Remove(java)) // it is not started again
	again, err := Prepare(t.Context(), a, java, 17, cache, "sha256:fedcba9876543210ffff")
	require.NoError(t, err)
	require.Equal(t, path, again)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "patch\n", string(data))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.Geteuid(), int(info.Sys().(*syscall.Stat_t).Uid), "whoever ran the launcher cannot change it later")
	left, err := os.ReadDir(cache)
	require.NoError(t, err)
	require.Len(t, left, 1, "no temporary folder is left")
}

func TestPrepareReportsTheCause(t *testing.T) {
	dir := t.TempDir()
	a := Artefacts{Jar: "agent.jar", Digest: "sha256:01"}
	failing := filepath.Join(dir, "failing")
	require.NoError(t, os.WriteFile(failing, []byte("#!/bin/sh\necho no such class >&2\nexit 1\n"), 0o755))
	_, err := Prepare(t.Context(), a, failing, 17, dir, "sha256:02")
	require.ErrorContains(t, err, "no such class")
	silent := filepath.Join(dir, "silent")
	require.NoError(t, os.WriteFile(silent, []byte("#!/bin/sh\n"), 0o755))
	_, err = Prepare(t.Context(), a, silent, 17, dir, "sha256:02")
	require.ErrorContains(t, err, "left no jar")
	_, err = Prepare(t.Context(), a, silent, 17, dir, "")
	require.ErrorContains(t, err, "digest")
}
