package jfrcheck

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/internal/testenv"
	"misstep/recipe"
	"misstep/runner/judge/altered"
	"misstep/runner/recording"
)

func helper(t *testing.T) recording.Helper {
	t.Helper()
	jar := filepath.Join(testenv.Root(), "build", "recording", "misstep-recording.jar")
	if _, err := os.Stat(jar); err != nil {
		t.Skipf("the helper that reads recordings is not built (%v); run make recording", err)
	}
	return recording.Helper{Java: testenv.Catalogued(t, "jdk17").Tool("java"), Jar: jar}
}

// record runs a program under JFR and returns the recording and the program's class path.
func record(t *testing.T, j testenv.JDK) (file, classPath string) {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(testenv.Root(), "runner", "judge", "edges", "testdata")
	output, err := exec.Command(testenv.Javac(t), "--release", "8", "-Xlint:-options", "-d", dir,
		filepath.Join(source, "Events.java")).CombinedOutput()
	require.NoError(t, err, "%s", output)
	file = filepath.Join(dir, "recorded.jfr")
	output, err = exec.CommandContext(t.Context(), j.Tool("java"), "-Xmx256m",
		"-XX:StartFlightRecording=filename="+file+",settings="+filepath.Join(source, "all.jfc"), "-cp", dir, "Events",
		"1000").CombinedOutput()
	require.NoError(t, err, "%s", output)
	return file, dir
}

var features = []string{"jdk8", "jdk11", "jdk17", "jdk21", "jdk25", "jdk28"}

// The recordings of each JDK, read with its class files, have no impossible edge. With another JDK's class files they have none
// either: no edge is called wrong then, and a note says why.
func TestRecordingsOfEachJDK(t *testing.T) {
	h := helper(t)
	for _, name := range features {
		t.Run(name, func(t *testing.T) {
			j := testenv.Catalogued(t, name)
			file, classPath := record(t, j)
			o := Options{Files: []string{file}, ClassPath: classPath, JDK: j.Path, MaxBytes: 1 << 30, Top: 5}
			r, failed, err := Run(t.Context(), h, o)
			require.NoError(t, err)
			require.Empty(t, failed)
			edges := checkOf(t, r, recipe.EventEdges)
			assert.Greater(t, edges.Right, uint64(1000))
			assert.NotEmpty(t, r.Recordings[0].JVM)
			for _, f := range r.Faults {
				if f.Known != "" { // a bug of this JDK's recorder
					t.Logf("%s: %s", f.Known, f.Place)
					continue
				}
				t.Errorf("%s %s: %d × %s (%s)\n%v", f.Check, f.Kind, f.Count, f.Place, f.Detail, f.Stack)
			}
			t.Logf("%+v\ndoubts: %+v\nnotes: %v", edges, r.Doubts, r.Notes)

			other := testenv.Catalogued(t, features[(j.Feature/8+3)%len(features)])
			if other.Feature == j.Feature {
				return
			}
			o.JDK = other.Path
			r, _, err = Run(t.Context(), h, o)
			require.NoError(t, err)
			assert.Positive(t, checkOf(t, r, recipe.EventEdges).Void[otherFile])
			assert.Zero(t, checkOf(t, r, recipe.EventEdges).Wrong)
			assert.Contains(t, strings.Join(r.Notes, "\n"), "no edge can be called wrong")
			t.Logf("with the classes of %s: %+v, %d faults", other.Name, checkOf(t, r, recipe.EventEdges), len(r.Faults))
		})
	}
}

// altering changes frames of samples as they are read.
type altering struct {
	recording.Helper
	bci int32
}

// Read moves the bytecode index of each sample's second frame.
func (a altering) Read(
	ctx context.Context, file string, limits recording.Limits, visit func(recording.Record) error,
) (recording.Summary, recording.Usage, error) {
	done := map[*recording.Stack]bool{}
	return a.Helper.Read(ctx, file, limits, func(r recording.Record) error {
		if e, is := r.(*recording.Event); is && e.Stack != nil && !done[e.Stack] && len(e.Stack.Frames) > 1 {
			done[e.Stack] = true
			e.Stack.Frames[1].BCI += a.bci
		}
		return visit(r)
	})
}

// A fault that is put into samples is found where class files are given.
func TestFaultsInSamples(t *testing.T) {
	j := testenv.Catalogued(t, "jdk17")
	file, classPath := record(t, j)
	o := Options{Files: []string{file}, ClassPath: classPath, JDK: j.Path, MaxBytes: 1 << 30, Top: 5}
	r, _, err := Run(t.Context(), altering{helper(t), 1}, o)
	require.NoError(t, err)
	edges := checkOf(t, r, recipe.EventEdges)
	assert.Greater(t, edges.Wrong+edges.Void[otherFile], uint64(100), "class %s", altered.WrongBCI)
	t.Logf("%+v", edges)
}

// Damaged files are read as far as can be, and the error or the problem has the offset.
func TestDamagedRecordings(t *testing.T) {
	h := helper(t)
	file, _ := record(t, testenv.Catalogued(t, "jdk17"))
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	n := len(whole)
	patch := func(at int, bytes ...byte) []byte {
		return append(append(append([]byte{}, whole[:at]...), bytes...), whole[at+len(bytes):]...)
	}
	u8 := func(v uint64) []byte { return binary.BigEndian.AppendUint64(nil, v) }
	damaged := map[string][]byte{
		"magic only": whole[:4], "half a header": whole[:40], "header only": whole[:68], "header and a byte": whole[:69],
		"a quarter": whole[:n/4], "half": whole[:n/2], "all but a byte": whole[:n-1], "twice": slices.Concat(whole, whole),
		"text behind": slices.Concat(whole, []byte("text")), "half a chunk behind": slices.Concat(whole, whole[:n/2]),
		"old version": patch(4, 0, 0), "new version": patch(4, 0, 9),
		"size 0": patch(8, u8(0)...), "size 1": patch(8, u8(1)...), "size too large": patch(8, u8(1<<40)...),
		"negative size":    patch(8, u8(1<<63)...),
		"constants beyond": patch(16, u8(uint64(n)*2)...), "constants in the header": patch(16, u8(4)...),
		"metadata beyond": patch(24, u8(uint64(n)*2)...), "no metadata": patch(24, u8(0)...),
		"no frequency": patch(56, u8(0)...), "unfinished": patch(64, 1), "being written": patch(64, 255),
		"zeros in the middle": patch(n/2, make([]byte, n/8)...),
	}
	for seed := range 8 {
		noisy := append([]byte{}, whole...)
		for i := range 50 {
			noisy[68+(i*7919+seed*104729)%(n-68)] ^= byte(1 << (i % 8))
		}
		damaged[fmt.Sprint("noise ", seed)] = noisy
	}
	unreadable := []string{
		"magic only", "half a header", "header only", "header and a byte", "a quarter", "old version", "new version",
	}
	for name, data := range damaged {
		t.Run(name, func(t *testing.T) {
			path := written(t, string(data))
			r, failed, err := Run(t.Context(), h, Options{Files: []string{path}, MaxBytes: 1 << 30, Top: 5})
			require.NoError(t, err)
			switch {
			case slices.Contains(unreadable, name):
				require.Len(t, failed, 1)
				require.ErrorIs(t, failed[0], ErrUnreadable)
				assert.Contains(t, failed[0].Error(), "offset")
				t.Log(failed[0])
			default:
				require.Empty(t, failed)
				t.Logf("%+v, %d faults", r.Recordings[0].Problems, len(r.Faults))
				told := len(r.Recordings[0].Problems) > 0 || slices.ContainsFunc(r.Faults, func(f Fault) bool { return f.Known == "" })
				assert.True(t, told || name == "twice", "nothing tells of the damage") // whole chunks one after the other are a recording
			}
			require.NoError(t, renderHTML(io.Discard, r))
		})
	}
}
