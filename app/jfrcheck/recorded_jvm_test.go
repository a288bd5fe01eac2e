package jfrcheck

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/internal/testenv"
	"misstep/recipe"
	"misstep/runner/judge/altered"
	"misstep/runner/recording"
)

// record runs a program under JFR and returns the recording and the program's class path.
func record(t *testing.T, j testenv.JDK, options ...string) (file, classPath string) {
	t.Helper()
	return recordFor(t, j, time.Second, options...)
}

func recordFor(t *testing.T, j testenv.JDK, d time.Duration, options ...string) (file, classPath string) {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(testenv.Root(), "runner", "judge", "edges", "testdata")
	output, err := exec.Command(testenv.Javac(t), "--release", "8", "-Xlint:-options", "-d", dir,
		filepath.Join(source, "Events.java")).CombinedOutput()
	require.NoError(t, err, "%s", output)
	file = filepath.Join(dir, "recorded.jfr")
	output, err = exec.CommandContext(t.Context(), j.Tool("java"), append(options, "-Xmx256m",
		"-XX:StartFlightRecording=filename="+file+",settings="+filepath.Join(source, "all.jfc"), "-cp", dir, "Events",
		strconv.FormatInt(d.Milliseconds(), 10))...).CombinedOutput()
	require.NoError(t, err, "%s", output)
	return file, dir
}

var features = []string{"jdk8", "jdk11", "jdk17", "jdk21", "jdk25", "jdk28"}

// The recordings of each JDK, read with its class files, have no impossible edge. With another JDK's class files they have none
// either: no edge is called wrong then, and a note says why. Until JEP 518 (25) JFR's sampler may lose the caller of a method that
// the signal finds at its begin or end (MISSTEP-jfr-unfinished-frame): few samples have an impossible edge on top, and no other.
func TestRecordingsOfEachJDK(t *testing.T) {
	for _, name := range features {
		t.Run(name, func(t *testing.T) {
			j := testenv.Catalogued(t, name)
			file, classPath := record(t, j)
			o := Options{Files: []string{file}, ClassPath: classPath, JDK: j.Path, MaxBytes: 1 << 30, Top: 5}
			r, failed, err := Run(t.Context(), recording.Parse, o)
			require.NoError(t, err)
			require.Empty(t, failed)
			edges := checkOf(t, r, recipe.EventEdges)
			assert.Greater(t, edges.Right, uint64(1000))
			assert.NotEmpty(t, r.Recordings[0].JVM)
			const mostUnfinished = 10 // of about a thousand samples
			unfinished := uint64(0)
			for _, f := range r.Faults {
				if j.Feature < 25 && f.Sampler == "jdk.ExecutionSample" && strings.HasPrefix(f.Place, f.Stack[1]+" calls ") {
					unfinished += f.Count
					t.Logf("%s: %d samples", f.Place, f.Count)
					continue
				}
				if f.Known != "" { // a bug of this JDK's recorder
					t.Logf("%s: %s", f.Known, f.Place)
					continue
				}
				t.Errorf("%s %s: %d × %s (%s)\n%v", f.Check, f.Kind, f.Count, f.Place, f.Detail, f.Stack)
			}
			assert.LessOrEqual(t, unfinished, uint64(mostUnfinished))
			t.Logf("%+v\ndoubts: %+v\nnotes: %v", edges, r.Doubts, r.Notes)

			other := testenv.Catalogued(t, features[(j.Feature/8+3)%len(features)])
			if other.Feature == j.Feature {
				return
			}
			o.JDK = other.Path
			r, _, err = Run(t.Context(), recording.Parse, o)
			require.NoError(t, err)
			assert.Positive(t, checkOf(t, r, recipe.EventEdges).Void[otherFile])
			assert.Zero(t, checkOf(t, r, recipe.EventEdges).Wrong)
			assert.Contains(t, strings.Join(r.Notes, "\n"), "no edge can be called wrong")
			t.Logf("with the classes of %s: %+v, %d faults", other.Name, checkOf(t, r, recipe.EventEdges), len(r.Faults))
		})
	}
}

// altering returns a reader that puts a fault into each stack of samples.
func altering(fault altered.Fault) Reader {
	return func(
		ctx context.Context, file string, limits recording.Limits, visit func(recording.Record) error,
	) (recording.Summary, error) {
		random := rand.New(rand.NewPCG(1, 2))
		var before []recording.Frame
		done := map[*recording.Stack]bool{}
		return recording.Parse(ctx, file, limits, func(r recording.Record) error {
			if e, is := r.(*recording.Event); is && e.Stack != nil && !done[e.Stack] && len(e.Stack.Frames) > 3 {
				done[e.Stack] = true
				frames := e.Stack.Frames
				other := func() []recording.Frame {
					if before == nil {
						return frames
					}
					return before
				}
				e.Stack.Frames = fault.Apply(random, other, frames, 1+random.IntN(len(frames)-2))
				before = frames
			}
			return visit(r)
		})
	}
}

// Faults that are put into stacks are found where class files are given, as far as a recording can show them: what is left of a
// stack without its top or its bottom is a stack.
func TestFaultsInSamples(t *testing.T) {
	j := testenv.Catalogued(t, "jdk17")
	file, classPath := record(t, j)
	o := Options{Files: []string{file}, ClassPath: classPath, JDK: j.Path, MaxBytes: 1 << 30, Top: 5}
	whole, _, err := Run(t.Context(), recording.Parse, o)
	require.NoError(t, err)
	wrong := checkOf(t, whole, recipe.EventEdges).Wrong // of the sampler itself, if any
	for _, fault := range altered.Faults {
		t.Run(fault.Class, func(t *testing.T) {
			r, _, err := Run(t.Context(), altering(fault), o)
			require.NoError(t, err)
			edges := checkOf(t, r, recipe.EventEdges)
			t.Logf("%+v", edges)
			switch fault.Class {
			case altered.TopDropped, altered.BottomDropped, altered.HalfLost:
				assert.LessOrEqual(t, edges.Wrong, wrong, "a shorter stack is a stack: %+v", whole.Faults)
			case altered.WrongLine:
				assert.Zero(t, edges.Wrong)
				assert.Positive(t, edges.Void[otherFile]+uint64(strings.Count(strings.Join(r.Notes, ""), "other lines")))
			case altered.MethodRemoved:
				assert.Positive(t, r.Samplers[0].Unknown)
			case altered.WrongBCI, altered.WrongMethod: // with a fault in each stack most lines differ, as of another build
				assert.Greater(t, edges.Wrong+edges.Void[otherFile], uint64(100))
			default:
				assert.Greater(t, edges.Wrong, uint64(100))
			}
		})
	}
}

// Faults that are put into the bytes of chunks are found, as what they are.
func TestFaultsInChunks(t *testing.T) {
	// Long enough for a second chunk on a busy machine.
	file, _ := recordFor(t, testenv.Catalogued(t, "jdk25"), 6*time.Second, "-XX:FlightRecorderOptions=maxchunksize=1M")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, fault := range altered.OfBytes {
		t.Run(fault.Class, func(t *testing.T) {
			split, err := altered.Split(slices.Clone(data))
			require.NoError(t, err)
			require.Greater(t, len(split), 1)
			changed, err := fault.Apply(rand.New(rand.NewPCG(1, 2)), split)
			require.NoError(t, err)
			r, failed, err := Run(t.Context(), recording.Parse, Options{
				Files: []string{written(t, string(slices.Concat(changed...)))}, MaxBytes: 1 << 30, Top: 5,
			})
			require.NoError(t, err)
			require.Empty(t, failed)
			found := slices.ContainsFunc(r.Faults, func(f Fault) bool { return f.Kind == fault.Kind })
			assert.Equal(t, fault.Kind != "", found, "%v", r.Faults)
		})
	}
}

// Damaged files are read as far as can be, and the error or the problem has the offset.
func TestDamagedRecordings(t *testing.T) {
	file, _ := record(t, testenv.Catalogued(t, "jdk17"))
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	n := len(whole)
	patch := func(at int, bytes ...byte) []byte {
		return append(append(append([]byte{}, whole[:at]...), bytes...), whole[at+len(bytes):]...)
	}
	u8 := func(v uint64) []byte { return binary.BigEndian.AppendUint64(nil, v) }
	constants, metadata := int(binary.BigEndian.Uint64(whole[16:])), int(binary.BigEndian.Uint64(whole[24:]))
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
		"cut in the metadata": whole[:metadata+10], "cut in the constants": whole[:constants+10],
		"huge event": patch(68, 0xff, 0xff, 0xff, 0xff, 0x7f), "empty event": patch(68, 0x80, 0x80, 0x80, 0),
		"huge metadata":       patch(metadata, 0xff, 0xff, 0xff, 0xff, 0x7f),
		"huge constants":      patch(constants, 0xff, 0xff, 0xff, 0xff, 0x7f),
		"zeros in the middle": patch(n/2, make([]byte, n/8)...),
	}
	for seed := range 8 {
		noisy := append([]byte{}, whole...)
		for i := range 50 {
			noisy[68+(i*7919+seed*104729)%(n-68)] ^= byte(1 << (i % 8))
		}
		damaged[fmt.Sprint("noise ", seed)] = noisy
	}
	unreadable := []string{"magic only", "half a header", "header only", "header and a byte", "old version", "new version"}
	perhaps := []string{"a quarter", "half", "cut in the metadata"} // which may have neither a whole chunk nor metadata before
	for name, data := range damaged {
		t.Run(name, func(t *testing.T) {
			path := written(t, string(data))
			r, failed, err := Run(t.Context(), recording.Parse, Options{Files: []string{path}, MaxBytes: 1 << 30, Top: 5})
			require.NoError(t, err)
			switch {
			case slices.Contains(unreadable, name), slices.Contains(perhaps, name) && len(failed) > 0:
				require.Len(t, failed, 1)
				require.ErrorIs(t, failed[0], ErrUnreadable)
				assert.Contains(t, failed[0].Error(), "offset")
				t.Log(failed[0])
			default:
				require.Empty(t, failed)
				t.Logf("%+v, %d faults", r.Recordings[0].Problems, len(r.Faults))
				told := len(r.Recordings[0].Problems) > 0 ||
					slices.ContainsFunc(r.Faults, func(f Fault) bool { return f.Known == "" })
				// whole chunks one after the other are a recording
				assert.True(t, told || name == "twice", "nothing tells of the damage")
			}
			require.NoError(t, renderPage(io.Discard, "report.html", r))
		})
	}
}
