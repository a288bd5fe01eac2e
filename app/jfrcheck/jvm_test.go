package jfrcheck

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/internal/testenv"
	"misstep/known"
	"misstep/recipe"
	"misstep/runner/recording"
)

func jvm(version string) *recording.Setting {
	return &recording.Setting{Type: "jdk.JVMInformation", Name: "jvmVersion", Value: version}
}

func TestVersionsOfJVMs(t *testing.T) {
	for text, want := range map[string]known.Version{
		"25.504-b01": {8, 0, 504}, "25.0.3+9-LTS": {25, 0, 3}, "25-ea+12": {25, 0, 0},
		"OpenJDK 64-Bit Server VM (25.504-b01) for linux-amd64 JRE (1.8.0_504-b01)": {8, 0, 504},
	} {
		assert.Equal(t, text, jvmVersion(jvm(text)))
		got, ok := known.ParseVersion(text)
		assert.True(t, ok, text)
		assert.Equal(t, want, got, text)
	}
	assert.Empty(t, jvmVersion(&recording.Setting{Type: "jdk.JVMInformation", Name: "pid", Value: "7"}))
	assert.Empty(t, jvmVersion(&recording.Setting{Type: "jdk.FileRead", Name: "jvmVersion", Value: "7"}))
}

// With the class files of another JDK than the recording's no edge is called wrong, and a note names both.
func TestClassFilesOfAnotherJDK(t *testing.T) {
	jdk := testenv.Catalogued(t, "jdk17").Path
	_, bad, _ := realCall(t, jdk)
	release, has := releaseOf(jdk)
	require.True(t, has)
	const other = "OpenJDK 64-Bit Server VM (21.0.2+13-58) for linux-amd64 JRE (21.0.2+13-58), built on 2024-01-05T18:32:24Z"
	r := run(t, Options{JDK: jdk}, chunk(0), jvm(other), event(0, bad))
	c := checkOf(t, r, recipe.EventEdges)
	assert.Zero(t, c.Wrong)
	assert.EqualValues(t, 1, c.Void[otherFile])
	assert.False(t, r.Fails(TouchesBookkeeping))
	assert.Equal(t, other, r.Recordings[0].JVM)
	assert.Contains(t, strings.Join(r.Notes, "\n"), other+" was not made by the JDK "+jdk)

	both := runAll(t, Options{JDK: jdk}, []recording.Record{chunk(0), jvm(other), event(0, bad)},
		[]recording.Record{chunk(0), event(0, bad)}, []recording.Record{chunk(0), jvm(other), event(0, bad)})
	c = checkOf(t, both, recipe.EventEdges)
	assert.EqualValues(t, 1, c.Wrong, "that of the recording which does not say so")
	assert.EqualValues(t, 2, c.Void[otherFile])
	assert.Len(t, both.Faults, 1)
	assert.Equal(t, 1, strings.Count(strings.Join(both.Notes, "\n"), "was not made by"))

	file, err := os.ReadFile(filepath.Join(jdk, "release"))
	require.NoError(t, err)
	_, version, _ := strings.Cut(string(file), "JAVA_VERSION=\"")
	version, _, _ = strings.Cut(version, "\"")
	r = run(t, Options{JDK: jdk}, chunk(0), jvm(version), event(0, bad))
	assert.EqualValues(t, 1, checkOf(t, r, recipe.EventEdges).Wrong, "of the same JDK, %v", release)
}

func TestReleaseOfAJDK(t *testing.T) {
	dir := t.TempDir()
	_, has := releaseOf(dir)
	assert.False(t, has, "no file")
	for text, want := range map[string]known.Version{
		"IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"17.0.15\"\n": {17, 0, 15}, "JAVA_VERSION=\"28\"": {28, 0, 0}, "JAVA_VERSION=\"1.8.0_422\"": {8, 0, 422},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "release"), []byte(text), 0o600))
		got, has := releaseOf(dir)
		assert.True(t, has, text)
		assert.Equal(t, want, got, text)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "release"), []byte("MODULES=\"java.base\"\n"), 0o600))
	_, has = releaseOf(dir)
	assert.False(t, has)
}

// A fault that a known bug has is labelled with it, in JVMs that have the bug.
func TestLabelsOfFaults(t *testing.T) {
	lacking := &recording.Link{Type: "java.lang.Thread", From: "jdk.ThreadEnd", Field: "thread", Referenced: 3, Lacking: 1}
	fault := &recording.Fault{Kind: recording.Lacking, Type: "java.lang.Thread", ID: 7, From: "jdk.ThreadEnd", Field: "thread"}
	for version, want := range map[string]string{
		"17.0.15+6-Debian-1": "JDK-8287699", "OpenJDK 64-Bit Server VM (21.0.2+13-58) for linux-amd64 JRE (21.0.2+13-58)": "",
		"": "JDK-8287699",
	} {
		r := run(t, Options{}, chunk(0), jvm(version),
			&recording.Pool{Type: "java.lang.Thread", Defined: 2, Referenced: 3}, lacking, fault)
		require.Len(t, r.Faults, 1, version)
		assert.Equal(t, want, r.Faults[0].Known, version)
	}
}

// Each recording's faults have the labels of its own JVM; where its chunks are of several JVMs, a label must be one in all of them.
func TestLabelsAreThoseOfEachJVM(t *testing.T) {
	lacking := &recording.Link{Type: "java.lang.Thread", From: "jdk.ThreadEnd", Field: "thread", Referenced: 3, Lacking: 1}
	r := runAll(t, Options{},
		[]recording.Record{chunk(0), jvm("17.0.15"), lacking}, []recording.Record{chunk(0), jvm("21.0.2"), lacking},
		[]recording.Record{chunk(0), jvm("17.0.15"), lacking},
		[]recording.Record{chunk(0), jvm("21.0.2"), lacking, chunk(1), jvm("17.0.15")},
	)
	counts := map[string]uint64{}
	for _, f := range r.Faults {
		counts[f.Known] += f.Count
	}
	assert.Equal(t, map[string]uint64{"JDK-8287699": 2, "": 2}, counts)
	assert.EqualValues(t, 4, checkOf(t, r, recipe.JfrChunks).Wrong)
}

// Where many classes have other lines, the class files are of another build, whatever recordings say of their JVM. A few places
// with another line contradict the recording, and not the class file.
func TestClassFilesOfAnotherBuild(t *testing.T) {
	c := newCodeEdges(nil, "")
	for i := range 100 {
		c.places[code{strings.Repeat("x", i), ""}] = &compared{all: 20, other: i % 2}
		c.places[code{strings.Repeat("x", i), "run"}] = &compared{all: 3, other: i % 2}
	}
	c.settle()
	assert.False(t, c.otherClass("x", "run"), "one place of 20, and of the method's three")
	for i := range 10 {
		c.places[code{strings.Repeat("x", i), ""}].other = 2
	}
	c.settle()
	assert.Len(t, c.differing, 10)
	assert.True(t, c.otherClass("x", "run"), "one in ten")
	assert.False(t, c.otherClass("p.Main", "run"), "a tenth of the classes may be instrumented")
	c.places[code{strings.Repeat("x", 11), "run"}].other = 2
	assert.True(t, c.otherClass(strings.Repeat("x", 11), "run"), "the method")
	assert.False(t, c.otherClass(strings.Repeat("x", 11), "main"), "another method")
	c.settle()
	assert.True(t, c.otherClass("p.Main", "run"), "more than a tenth")
	clear(c.places)
	c.places[code{"p.A", ""}] = &compared{all: 1, other: 1}
	c.settle()
	assert.False(t, c.otherBuild, "one class is no build")
	assert.True(t, c.otherClass("p.A", "run"))
}
