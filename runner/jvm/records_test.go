package jvm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/triage"
)

// framesOf is a record of so many frames without content, which take the least space in the file for what they take of memory.
func framesOf(caller string, frames int) string {
	return fmt.Sprintf(`{"check":"gst-asgct","kind":"foreign","suspect":{"frames":[%s{"class_name":%q}]}}`+"\n",
		strings.Repeat("{},", frames-1), caller)
}

// live returns the bytes of the heap that are in use.
func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// allocated returns the bytes that work allocates in all, which memory in use never exceeds.
func allocated(work func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func readAll(t testing.TB, f io.Reader) Records {
	t.Helper()
	records, err := ReadRecords(t.Context(), f)
	require.NoError(t, err)
	return records
}

// Whoever reads a large file ends when told to.
func TestReadingRecordsEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	line := framesOf("a.A", 100)
	lines := 0
	source := readerFunc(func(p []byte) (int, error) { // without an end
		if lines++; lines == 100 {
			cancel()
		}
		return copy(p, line), nil
	})
	_, err := ReadRecords(ctx, source)
	require.ErrorIs(t, err, context.Canceled)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// A record is refused by what it holds before it is decoded: two lines of 27 MB with nine million frames took gigabytes.
func TestARecordOfMillionsOfFramesIsNotDecoded(t *testing.T) {
	text := strings.Repeat(framesOf("a.A", 9_000_000), 2) + record(t, "gst-asgct", "a.A", 0, 1)
	var records Records
	took := allocated(func() { records = readAll(t, strings.NewReader(text)) })
	assert.Less(t, took, uint64(8*len(text)/2), "buffers for the longest line")
	assert.Equal(t, 2, records.TooLarge)
	assert.Len(t, records.Mismatches, 1, "the others are read")
	assert.Contains(t, records.excess(), "2 mismatch records are larger")
}

func TestARecordOfLongTextsIsNotDecoded(t *testing.T) {
	text := framesOf(strings.Repeat("c", 30<<20), 1) + record(t, "gst-asgct", "a.A", 0, 1)
	var records Records
	took := allocated(func() { records = readAll(t, strings.NewReader(text)) })
	assert.Less(t, took, uint64(6*len(text)), "the buffer as it grows")
	assert.Equal(t, 1, records.TooLarge)
	assert.Len(t, records.Mismatches, 1)
}

// Each of these records is one that an agent may write; all together would take twice the bound.
func TestMemoryOfManyLargeRecordsIsBounded(t *testing.T) {
	var text strings.Builder
	for i := range 60 {
		text.WriteString(framesOf(fmt.Sprint("a.A", i), triage.MaxFrames))
	}
	before := live()
	records := readAll(t, strings.NewReader(text.String()))
	took := live() - before
	assert.Less(t, took, uint64(3*maxRecordsKept))
	kept := len(records.Mismatches) // assert.Len would print them
	assert.Equal(t, 60-records.LeftOut, kept)
	assert.Greater(t, kept, 10)
	outcome := &misstepv1.Outcome{Mismatches: records.Mismatches}
	shrink(outcome, triage.MaxOutcome)
	assert.NotEmpty(t, outcome.GetMismatches())
	runtime.KeepAlive(&text)
}

// Reading ends where it would take too long, and says so.
func TestReadingManyLargeRecordsEnds(t *testing.T) {
	read, made := newKeeper(), newKeeper()
	read.parts, made.made.parts = maxPartsRead-10, maxPartsMade+1
	for _, k := range []keeper{read, made} {
		k.line([]byte(framesOf("a.A", 100)), false)
		require.Empty(t, k.kept)
		require.True(t, k.Cut)
		require.Contains(t, k.excess(), "values")
	}
}

// A runner reads no mismatch that a coordinator would refuse.
func TestRecordsAreBoundedAsOutcomesAre(t *testing.T) {
	for what, line := range map[string]string{
		"frames": framesOf("a.A", triage.MaxFrames+1),
		"class":  framesOf(strings.Repeat("c", 1<<16+1), 1),
		"name":   fmt.Sprintf(`{"check":"gst-asgct","kind":%q}`, strings.Repeat("k", 1000)) + "\n",
		"code":   fmt.Sprintf(`{"check":"gst-asgct","kind":"foreign","code":%q}`, strings.Repeat("AAAA", 1000)) + "\n",
	} {
		records := readAll(t, strings.NewReader(line))
		assert.Equal(t, 1, records.TooLarge, what)
		assert.Empty(t, records.Mismatches, what)
	}
}

// What a record has again is not decoded again: deep stacks have the same frames, and so have the stacks of one program.
func TestFramesAreDecodedOnce(t *testing.T) {
	k := newKeeper()
	for i := range 200 {
		k.line([]byte(framesOf(fmt.Sprint("a.A", i), 5000)), false)
	}
	require.Len(t, k.kept, 200)
	require.Greater(t, k.parts, 200*5000)
	require.Less(t, k.made.parts, 200*10)
	require.Less(t, k.made.size, 1<<18)
	k.made.size = maxFramesKnown
	k.line([]byte(framesOf("b.B", 5000)), false)
	require.Len(t, k.kept, 201, "no frame more is kept in mind")
	require.NotContains(t, k.made.known, `{"class_name":"b.B"}`)
}

// A program may put something else where the agent writes.
func TestRecordsThatAreNoFile(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, unix.Mkfifo(pipe, 0o600))
	for _, path := range []string{pipe, t.TempDir()} {
		records, err := readRecords(t.Context(), path)
		require.NoError(t, err)
		require.Contains(t, records.excess(), "not a regular file")
	}
}

// Whatever the file holds, what is read of it is within the bounds, and every line is counted.
func FuzzRecords(f *testing.F) {
	frame := `{"className":"a.A","method":"m","descriptor":"()V","bci":3}`
	good := `{"check":"gst-asgct","kind":"foreign","suspect":{"frames":[` + frame + `]},"count":"3"}` + "\n"
	for _, seed := range []string{
		"", "\n", good, good + good, strings.TrimSpace(good), good + `{"check":"gst-`, strings.Replace(good, frame, frame+","+frame, 1),
		strings.Replace(good, "a.A", `\"[{,\u0000`, 1), `{"check":"a","kind":"b","x":` + strings.Repeat("[", 20_000),
		strings.Replace(good, `"count":"3"`, `"count":"18446744073709551615"`, 1) + good, framesOf("a.B", triage.MaxFrames+1),
		`{"check":"a","kind":"b","reference":{"leftOut":[{"before":9,"frames":1}]}}`, `{"check":"a","kind":"b","code":"AAAA"}`,
		`{"reference":["frames",[{}]]}`, `{"reference":{"frames":[{},]}}`, `{"suspect":{"x":{"frames":[1]},"frames" : [ {} , {"bci":1} ]}}`,
		`{"reference":{"frames":[{"x":[{}]}]},"reference":{}}`, `{"x":{"frames":[1]},"suspect":{"frames":[null]}}`, `{"suspect":{"frames":[{`,
		`]"0"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		table := newKeeper().made
		for line := range bytes.Lines(text) {
			whole := &misstepv1.Mismatch{}
			err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(line, whole)
			m, cut := table.record(line)
			require.Equal(t, err != nil, cut != nil, "%q: %v %v", line, err, cut)
			require.True(t, err != nil || proto.Equal(whole, m), "%q: %v %v", line, whole, m)
		}
		records := readAll(t, bytes.NewReader(text))
		lines := 1 + bytes.Count(text, []byte("\n"))
		require.LessOrEqual(t, records.Damaged+records.Torn+records.TooLarge+records.LeftOut+len(records.Mismatches), lines)
		size := 0
		for _, m := range records.Mismatches {
			require.NoError(t, triage.Bounded(m))
			require.NotZero(t, m.GetCount())
			size += sizeOf(m)
		}
		require.LessOrEqual(t, size, maxRecordsKept)
		for line := range bytes.Lines(text) {
			n, _ := parts(line)
			require.LessOrEqual(t, values(line), 2*n+1, "%s", line)
		}
	})
}

// values returns how many values a line of JSON has before its first error.
func values(line []byte) (n int) {
	in := json.NewDecoder(bytes.NewReader(line))
	for open := 1; open > 0; {
		if n == 0 {
			open = 0
		}
		token, err := in.Token()
		switch {
		case err != nil:
			return n
		case token == json.Delim('{') || token == json.Delim('['):
			open++
			n++
		case token == json.Delim('}') || token == json.Delim(']'):
			open--
		default:
			n++
		}
	}
	return n
}

func TestPartsAreCountedOutsideOfTexts(t *testing.T) {
	for line, want := range map[string]int{
		``: 0, `{}`: 1, `{"a":[1,2,{}]}`: 5, `{"a,{[":"\",b{["}`: 1, `{"a":"\\",b{`: 3, `"\\\",{[" ,`: 1, `"`: 0,
	} {
		n, _ := parts([]byte(line))
		require.Equal(t, want, n, line)
	}
	for line, want := range map[string]int{``: 0, `""`: 0, `{"ab":"\"c"}`: 3, `"ab","cde"`: 3, `abc`: 0} {
		_, longest := parts([]byte(line))
		require.Equal(t, want, longest, line)
	}
}

// Too much is an outcome, not a trial that fails again and again: with the mismatches that were read, or without any.
func TestExcessIsAnOutcome(t *testing.T) {
	counted := &misstepv1.CheckCount{Check: "gst-asgct", Total: 9, Mismatch: 9}
	failed := &misstepv1.ApplicationFailure{Reason: "records", Message: "2 mismatch records are larger"}
	excess := losses{excess: failed.GetMessage()}
	o := &misstepv1.Outcome{Checks: []*misstepv1.CheckCount{counted}, ApplicationFailure: failed}
	require.NoError(t, (&trial{}).conclude(o, excess))
	assert.Equal(t, failure, o.GetKind())
	assert.Equal(t, "records: 2 mismatch records are larger", o.GetReason())
	require.Error(t, (&trial{}).conclude(&misstepv1.Outcome{Checks: o.GetChecks()}, losses{damaged: 1}), "nothing says why")
}
