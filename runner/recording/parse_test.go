package recording

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// parsed reads what is in memory.
func parsed(t *testing.T, data []byte, limits Limits) (all []Record, problems []*Problem) {
	t.Helper()
	summary, err := parse(t.Context(), bytes.NewReader(data), int64(len(data)), limits.orDefaults(), func(r Record) error {
		if p, is := r.(*Problem); is {
			problems = append(problems, p)
		}
		all = append(all, r)
		return nil
	})
	require.NoError(t, err)
	require.Len(t, problems, summary.Problems)
	return all, problems
}

func TestParse(t *testing.T) {
	data := forgedRecording()
	all, problems := parsed(t, append(data, data...), Limits{})
	require.Empty(t, problems)
	thread := &Thread{Constant: 1, OS: 100, Java: 8, Name: "java"}
	method := func(id uint64, name string) *Method {
		return &Method{
			Constant: id, ClassConstant: 1, Class: "p.Main", Name: name, Descriptor: "()V", Loader: "app", Modifiers: 9,
		}
	}
	begin := int64(1e18)
	want := []Record{
		&Setting{Type: "jdk.ExecutionSample", Name: "period", Value: "10 ms"},
		&Event{
			Type: "jdk.ExecutionSample", StartNanos: begin + 6, Thread: thread, State: "STATE_RUNNABLE",
			Stack: &Stack{Constant: 1, Frames: []Frame{{method(1, "work"), 7, 70, Compiled}, {method(2, "main"), 3, 30, Interpreted}}},
		},
		&Lost{StartNanos: begin + 8, Samples: 3, Thread: thread},
	}
	half := len(all) / 2
	for chunk, records := range [][]Record{all[:half], all[half:]} {
		require.Equal(t, &Chunk{
			Index: chunk, Offset: int64(chunk * len(data)), Bytes: int64(len(data)), StartNanos: begin, DurationNanos: 1e9,
			StartTicks: 1, TicksPerSecond: 1e9,
		}, records[0])
		require.Equal(t, want, records[1:4])
		for _, r := range records[4:] {
			l, is := r.(*Link)
			require.False(t, is && l.Lacking > 0, "%+v", l)
		}
		require.Contains(t, records, &Pool{Type: "jdk.types.Symbol", Defined: 5, Referenced: 5})
		require.Contains(t, records, &Window{Type: "jdk.ExecutionSample", Events: 1, FirstNanos: 6, LastNanos: 6})
	}
}

// What is wrong is reported with its place, what came before it is read, and nothing is said of the chunk's constants.
func TestParseOfBrokenEvents(t *testing.T) {
	data := forgedRecording()
	h := readHeader(data)
	w := h.walk(data)
	var at []int
	for w.advance() {
		at = append(at, w.position)
	}
	require.Len(t, at, 5)
	longer := bytes.Clone(data)
	longer[at[3]]++ // takes a byte of the event behind it
	unknown := bytes.Clone(data)
	unknown[at[3]+4] = 99
	const between = 14 // bytes from one checkpoint to the one in its string
	inner := sized(checkpoint(-between, poolOf(symbolID)))
	nested := forged(forgedTypes(), checkpoint(0, poolOf(symbolID, appendValues(nil, 1, string(inner)))))
	binary.BigEndian.PutUint64(nested[headerConstants:], uint64(bytes.Index(nested, inner)))
	for name, c := range map[string]struct {
		data    []byte
		records int // behind the chunk, before the problem
		offset  int
		kind    ProblemKind
		message string
	}{
		"another size": {longer, 1, at[3], Layout, "after 1 events of the chunk: jdk.ExecutionSample has 1 bytes after its fields"},
		"another type": {unknown, 1, at[3], Layout, "after 1 events of the chunk: the metadata has no type 99"},
		"a tail": {
			append(longerHeader(data, 3), 0, 0, 0), 3, len(data), Layout, "after 3 events of the chunk: no event begins here",
		},
		"a checkpoint in another": {
			nested, 0, bytes.Index(nested, inner), Layout, fmt.Sprintf("constants: a length of %d goes beyond its end", len(inner)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			all, problems := parsed(t, c.data, Limits{})
			require.Len(t, problems, 1)
			require.Len(t, all, c.records+2, "%v", all)
			require.Equal(t, problems[0], all[len(all)-1])
			assert.Equal(t, c.kind, problems[0].Kind)
			assert.Contains(t, problems[0].Message, c.message)
			assert.Equal(t, int64(c.offset), problems[0].Offset)
		})
	}
}

// longerHeader is a chunk whose header says that it is longer.
func longerHeader(data []byte, by int) []byte {
	data = bytes.Clone(data)
	binary.BigEndian.PutUint64(data[8:], uint64(len(data)+by))
	return data
}

// A chunk that asks for too much is a problem of that chunk; the one behind it is read.
func TestParseIsBounded(t *testing.T) {
	data := forgedRecording()
	twice := append(data, data...)
	for name, limits := range map[string]Limits{
		"entries": {entries: 10}, "frames": {frames: 1}, "chunk": {ChunkBytes: int64(len(data)) - 1},
	} {
		_, problems := parsed(t, twice, limits)
		require.Len(t, problems, 2, name)
		for i, p := range problems {
			require.Equal(t, Limit, p.Kind, name)
			require.Equal(t, i, p.Chunk, name)
		}
	}
	all, problems := parsed(t, data, Limits{Frames: 1})
	require.Empty(t, problems)
	stack := all[2].(*Event).Stack
	require.True(t, stack.Cut)
	require.Len(t, stack.Frames, 1)
}

// Chunks share what they say of methods, not what they say of samples; metadata that cannot be found leave nothing of the chunk
// before.
func TestParseOfChunksInTurn(t *testing.T) {
	data := forgedRecording()
	other := forged(forgedTypes(), checkpoint(0), appendValues(nil, sampleID, 7, 1, 1, 1))
	none := bytes.Clone(data)
	binary.BigEndian.PutUint64(none[headerMetadata:], 0)
	turns := slices.Concat(data, other, data, none)
	var stacks []*Stack
	summary, err := parse(t.Context(), bytes.NewReader(turns), int64(len(turns)), Limits{}.orDefaults(), func(r Record) error {
		if e, is := r.(*Event); is {
			stacks = append(stacks, e.Stack)
		}
		return nil
	})
	require.NoError(t, err)
	require.Len(t, stacks, 3)
	require.Nil(t, stacks[1], "the constants of another chunk")
	require.NotSame(t, stacks[0], stacks[2])
	require.Same(t, stacks[0].Frames[0].Method, stacks[2].Frames[0].Method)
	require.Equal(t, 1, summary.Problems)
	require.Equal(t, int64(3), summary.Types["jdk.ExecutionSample"])
	require.Equal(t, int64(2), summary.Types["jdk.ActiveSetting"])
}

// A name that is longer than any of a class is cut, and its method is not kept for other chunks.
func TestParseOfALongName(t *testing.T) {
	data := forged(forgedTypes(), checkpoint(0,
		poolOf(symbolID, appendValues(nil, 1, strings.Repeat("x", 1<<20))),
		poolOf(methodID, appendValues(nil, 1, 0, 1, 0, 0, 0)),
		poolOf(stackID, appendValues(nil, 1, 0, 1, 1, 0, 0, 0)),
	), appendValues(nil, sampleID, 7, 0, 1, 0))
	all, problems := parsed(t, slices.Concat(data, data), Limits{})
	require.Empty(t, problems)
	var methods []*Method
	for _, r := range all {
		if e, is := r.(*Event); is {
			methods = append(methods, e.Stack.Frames[0].Method)
		}
	}
	require.Len(t, methods, 2)
	require.Len(t, methods[0].Name, mostText)
	require.NotSame(t, methods[0], methods[1])
}

// An error of visit ends the reading.
func TestParseIsEndedByVisit(t *testing.T) {
	data, enough, visits := forgedRecording(), errors.New("enough"), 0
	_, err := parse(t.Context(), bytes.NewReader(data), int64(len(data)), Limits{}.orDefaults(), func(Record) error {
		if visits++; visits == 3 {
			return enough
		}
		return nil
	})
	require.ErrorIs(t, err, enough)
	require.Equal(t, 3, visits)
}

// Each bit of a recording can be another one, and it can end at each byte: it is read, or a problem says where it cannot be.
func TestParseOfEachDamage(t *testing.T) {
	data := forgedRecording()
	for at := range data {
		for bit := range 8 {
			damaged := bytes.Clone(data)
			damaged[at] ^= 1 << bit
			checked(t, damaged)
		}
		_, problems := parsed(t, data[:at], Limits{})
		require.NotEmpty(t, problems, "the first %d bytes", at)
	}
}

// checked reads whatever it is and checks what is true of every reading.
func checked(t *testing.T, data []byte) {
	t.Helper()
	all, problems := parsed(t, data, Limits{Frames: 64, entries: 1 << 12, frames: 1 << 12})
	for _, p := range problems {
		require.GreaterOrEqual(t, p.Offset, int64(0))
		require.LessOrEqual(t, p.Offset, int64(len(data)))
		require.NotEmpty(t, p.Message)
		require.LessOrEqual(t, len(p.Message), mostMessage)
	}
	for _, r := range all {
		switch r := r.(type) {
		case *Event:
			require.GreaterOrEqual(t, r.DurationNanos, int64(0))
			if r.Stack != nil {
				require.LessOrEqual(t, len(r.Stack.Frames), 64)
			}
		case *Link:
			require.LessOrEqual(t, r.Lacking, r.Referenced)
		case *Window:
			require.LessOrEqual(t, r.FirstNanos, r.LastNanos)
			require.Positive(t, r.Events)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(forgedRecording())
	f.Add(append(forgedRecording(), forgedRecording()...))
	f.Add(forged(forgedTypes(), checkpoint(0)))
	f.Add(plainOf(f, forgedRecording()))
	f.Fuzz(checked)
}
