package jdk

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/catalogue"
	"misstep/corpus"
	"misstep/corpus/memory"
	"misstep/corpus/overlay"
	"misstep/corpus/tree"
)

func TestAddAFolder(t *testing.T) {
	t.Setenv("JAVA_TOOL_OPTIONS", "-the -caller's -own")                  // the fake java checks it
	c, home := Open(filepath.Join(t.TempDir(), "home [1] *")), fakeJDK(t) // must not be treated as a pattern
	e, err := c.Add(t.Context(), "bench-21", home, AddOptions{})
	require.NoError(t, err)
	m, err := tree.Scan(home)
	require.NoError(t, err)
	want := Entry{
		Name: "bench-21", Source: home, Path: home, Digest: m.Digest(), Size: m.Size(), Version: fakeVersion, Vendor: "Test Bench",
		Feature:     21,
		Release:     map[string]string{"IMPLEMENTOR": "Test Bench", "JAVA_VERSION": "21.0.1", "MODULES": "java.base jdk.jcmd"},
		HasCompiler: true,
	}
	assert.Equal(t, want, e)
	got, err := c.Get("bench-21")
	require.NoError(t, err)
	assert.Equal(t, want, got)
	list, err := c.List()
	require.NoError(t, err)
	assert.Equal(t, []Entry{want}, list)
	byDigest, ok := c.ByDigest(m.Digest())
	assert.True(t, ok)
	assert.Equal(t, want, byDigest)
	_, ok = c.ByDigest(corpus.DigestBytes(nil))
	assert.False(t, ok)

	inspected, err := Inspect(t.Context(), home)
	require.NoError(t, err)
	assert.Equal(t, Entry{
		Path: home, Version: want.Version, Vendor: want.Vendor, Feature: 21, Release: want.Release,
		HasCompiler: true,
	}, inspected)

	again, err := c.Add(t.Context(), "bench-21", home, AddOptions{})
	require.NoError(t, err, "the same source again")
	assert.Equal(t, want, again)
	_, err = c.Add(t.Context(), "bench-21", fakeJDK(t), AddOptions{})
	require.ErrorContains(t, err, "the name is taken by "+home)

	require.NoError(t, c.Remove("bench-21"))
	assert.FileExists(t, filepath.Join(home, "bin", "java"), "the user's own folder is kept")
	_, err = c.Get("bench-21")
	require.ErrorIs(t, err, catalogue.ErrUnknown)
}

func TestTheCatalogueServesItsTrees(t *testing.T) {
	c, home := Open(t.TempDir()), fakeJDK(t)
	e, err := c.Add(t.Context(), "x", home, AddOptions{})
	require.NoError(t, err)
	sources, err := c.Sources()
	require.NoError(t, err)
	dst := filepath.Join(t.TempDir(), "fetched")
	require.NoError(t, tree.Fetch(t.Context(), overlay.New(memory.New(), sources...), e.Digest, dst))
	run, err := Runnable(t.Context(), dst)
	require.NoError(t, err)
	assert.Equal(t, dst, run, "a build that uses the host's libc runs in place")
}

func TestAChangedBuildIsRefused(t *testing.T) {
	c, home := Open(t.TempDir()), fakeJDK(t)
	e, err := c.Add(t.Context(), "x", home, AddOptions{})
	require.NoError(t, err)

	// Touched, but the same bytes: verified by reading, and recorded.
	modules := filepath.Join(home, "lib", "modules")
	require.NoError(t, os.Remove(modules))
	write(t, modules, "modules", 0o644)
	_, err = c.Get("x")
	require.NoError(t, err)

	write(t, modules, "MODULES", 0o644)
	_, err = c.Get("x")
	require.ErrorContains(t, err, "have changed since")
	require.ErrorContains(t, err, "misstep jdk rm x")
	_, ok := c.ByDigest(e.Digest)
	assert.False(t, ok)

	require.NoError(t, os.RemoveAll(home))
	_, err = c.Get("x")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "its files are missing")
}

func TestAddNamesTheProblem(t *testing.T) {
	broken := func(java string) string {
		home := fakeJDK(t)
		write(t, filepath.Join(home, "bin", "java"), java, 0o755)
		return home
	}
	old := fakeJDK(t)
	write(t, filepath.Join(old, "release"), "JAVA_VERSION=\"1.7.0_80\"\nIMPLEMENTOR=\"x\"\n", 0o644)
	file := filepath.Join(t.TempDir(), "file.txt")
	write(t, file, "neither", 0o644)
	for want, source := range map[string]string{
		"want a JAVA_HOME folder, a .tar.gz":          "/does/not/exist",
		"is not a JDK":                                t.TempDir(),
		"name the folder that holds bin":              t.TempDir(),
		"exit status 3: cannot open shared object":    broken("#!/bin/sh\necho 'cannot open shared object' >&2\nexit 3\n"),
		"exec format error":                           broken("\x7fELF\x01\x01\x01 of another machine"),
		"printed nothing":                             broken("#!/bin/sh\n"),
		`"1.7.0_80": JDK 8 and later`:                 old,
		"an archive needs its SHA-256":                file,
		"want debian:openjdk-N or debian:openjdk-N@S": "debian:openjdk-x",
	} {
		c := Open(t.TempDir())
		_, err := c.Add(t.Context(), "x", source, AddOptions{})
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, source, "the error names the object")
		list, err := c.List()
		require.NoError(t, err)
		assert.Empty(t, list)
	}
	_, err := Open(t.TempDir()).Add(t.Context(), "../x", fakeJDK(t), AddOptions{})
	require.ErrorContains(t, err, "want 1 to 64 letters")
	_, err = Open(t.TempDir()).Add(t.Context(), "x", fakeJDK(t), AddOptions{SHA256: strings.Repeat("0", 64)})
	require.ErrorContains(t, err, "a SHA-256 is for archives")
}

func TestGetOfAnUnknownNameListsTheKnown(t *testing.T) {
	c := Open(t.TempDir())
	_, err := c.Get("17")
	require.ErrorIs(t, err, catalogue.ErrUnknown)
	require.ErrorContains(t, err, "it is empty: `misstep jdk add")
	_, err = c.Add(t.Context(), "bench", fakeJDK(t), AddOptions{})
	require.NoError(t, err)
	_, err = c.Get("17")
	require.ErrorContains(t, err, "it has bench")
	_, err = c.Get("../../etc/passwd")
	require.ErrorIs(t, err, catalogue.ErrUnknown)
	require.ErrorIs(t, c.Remove("17"), catalogue.ErrUnknown)
}

func TestJDK8WithoutReleaseFile(t *testing.T) {
	c, home := Open(t.TempDir()), fakeJDK(t)
	require.NoError(t, os.Remove(filepath.Join(home, "release")))
	require.NoError(t, os.Remove(filepath.Join(home, "bin", "javac")))
	e, err := c.Add(t.Context(), "8", home, AddOptions{})
	require.NoError(t, err)
	assert.Equal(t, 8, e.Feature)
	assert.Equal(t, "Bench", e.Vendor)
	assert.False(t, e.HasCompiler)
}

func TestFeatureVersion(t *testing.T) {
	for version, want := range map[string]int{"17.0.15": 17, "25": 25, "28-ea": 28, "1.8.0_402": 8, "11.0.2+9": 11, "9": 9} {
		got, err := featureVersion(version)
		require.NoError(t, err, version)
		assert.Equal(t, want, got, version)
	}
	for _, version := range []string{"", "ea", "1.7.0", "7", "1"} {
		_, err := featureVersion(version)
		require.Error(t, err, version)
	}
}

// TestConcurrentAdds runs two imports of one name and one of another at the same time.
func TestConcurrentAdds(t *testing.T) {
	c, home := Open(t.TempDir()), fakeJDK(t)
	var group sync.WaitGroup
	errs := make([]error, 3)
	for i, name := range []string{"a", "a", "b"} {
		group.Go(func() { _, errs[i] = c.Add(t.Context(), name, home, AddOptions{}) })
	}
	group.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	list, err := c.List()
	require.NoError(t, err)
	assert.Len(t, list, 2)
}

func TestRemainsOfAnInterruptedAddAreRemoved(t *testing.T) {
	c := Open(t.TempDir())
	left := filepath.Join(c.dir(), workPrefix("x")+"dead", "half a JDK")
	require.NoError(t, os.MkdirAll(left, 0o755))
	_, err := c.Add(t.Context(), "x", fakeJDK(t), AddOptions{})
	require.NoError(t, err)
	assert.NoDirExists(t, filepath.Dir(left))
}

// TestTheHostsJDK adds a real build: Debian's keeps its conf in /etc.
func TestTheHostsJDK(t *testing.T) {
	java, err := exec.LookPath("java")
	if err != nil {
		t.Skipf("needs a JDK on the PATH: %v", err)
	}
	java, err = filepath.EvalSymlinks(java)
	require.NoError(t, err)
	c := Open(t.TempDir())
	e, err := c.Add(t.Context(), "host", filepath.Dir(filepath.Dir(java)), AddOptions{})
	require.NoError(t, err)
	assert.Contains(t, e.Version, "VM")
	assert.GreaterOrEqual(t, e.Feature, 8)
	assert.NotEmpty(t, e.Vendor)
	_, err = c.Get("host")
	require.NoError(t, err)
}

// The file in testdata/home was written before package catalogue stored the entries.
func TestAnOldRecordIsReadAndWrittenUnchanged(t *testing.T) {
	old := Open(filepath.Join("testdata", "home"))
	r, err := old.entries.Get("jdk11")
	require.NoError(t, err)
	assert.Equal(t, "sha256:ca2236da9134d74c7506a63856d081c20b3e10a03b3ef02f2285d42e7d33eb2c", r.Digest.String())
	assert.Equal(t, "/var/lib/misstep/jdks/jdk11/tree.run", r.Path)
	assert.Equal(t, "/var/lib/misstep/jdks/jdk11/tree", r.Tree)
	assert.Equal(t, 11, r.Feature)
	assert.True(t, r.HasCompiler)
	assert.Len(t, r.Flags, 3)
	assert.False(t, r.Fingerprint.IsZero())
	c := Open(t.TempDir())
	require.NoError(t, c.entries.Put(r))
	assert.Equal(t, readFile(t, old.file("jdk11", ".json")), readFile(t, c.file("jdk11", ".json")))
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}
