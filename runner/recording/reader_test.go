package recording

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stream builds a stream as java/ does.
type stream struct{ bytes.Buffer }

func newStream() *stream {
	s := &stream{}
	s.WriteString(magic)
	return s
}

// record appends a record; values are uint for u, int for z, string for s.
func (s *stream) record(tag byte, values ...any) *stream {
	var payload []byte
	for _, value := range values {
		switch v := value.(type) {
		case uint:
			payload = binary.AppendUvarint(payload, uint64(v))
		case int:
			payload = binary.AppendVarint(payload, int64(v))
		case string:
			payload = append(binary.AppendUvarint(payload, uint64(len(v))), v...)
		}
	}
	s.WriteByte(tag)
	s.Write(binary.AppendUvarint(nil, uint64(len(payload))))
	s.Write(payload)
	return s
}

// example is a chunk with one event of each kind.
func example() *stream {
	return newStream().
		record('C', uint(0), uint(0), uint(999), uint(1_000_000), uint(500), uint(77), uint(1_000_000_000), uint(3), uint(3)).
		record('S', "jdk.CPUTimeSample").record('S', "main").record('S', "a.B").record('S', "bootstrap").
		record('S', "m").record('S', "(I)V").record('S', "STATE_RUNNABLE").
		record('T', uint(1)).
		record('H', uint(9), uint(4711), uint(1), uint(2), uint(2), uint(1)).
		record('M', uint(70), uint(71), uint(3), uint(4), uint(5), uint(6), uint(0x11), uint(1)).
		record('K', uint(5), uint(1), uint(2), uint(1), 12, 34, uint(2), uint(0), -1, -1, uint(9)).
		record('E', uint(1), -3, uint(0), uint(10_000_000), uint(1), uint(1), uint(7), uint(2<<2|1)).
		record('E', uint(1), 40, uint(0), uint(0), uint(0), uint(0), uint(0), uint(0)).
		record('L', 50, uint(1), uint(6)).
		record('G', uint(1), uint(2), uint(7)).
		record('P', uint(1), uint(12), uint(13)).
		record('W', uint(2), uint(5), uint(14)).
		record('R', uint(2), uint(3), uint(5), uint(30), uint(1)).
		record('U', uint(2), uint(25), uint(3), uint(140), uint(5)).
		record('D', uint(2), uint(26), uint(2), uint(141), uint(5)).
		record('V', uint(1), uint(17), -4, 900).
		record('X', uint(1), uint(999), "no chunk begins here", uint(4)).
		record('N', "jdk.CPUTimeSample", uint(2)).
		record('Z', uint(1), uint(1), uint(1), uint(2), uint(0), uint(6))
}

func collect(data []byte) ([]Record, Summary, error) {
	var records []Record
	summary, err := Read(bytes.NewReader(data), func(r Record) error {
		records = append(records, r)
		return nil
	})
	return records, summary, err
}

func TestRecordsOfEachKind(t *testing.T) {
	records, summary, err := collect(example().Bytes())
	require.NoError(t, err)
	thread := &Thread{Constant: 9, OS: 4711, Java: 1, Name: "main", Group: "main", Virtual: true}
	method := &Method{
		Constant: 70, ClassConstant: 71, Class: "a.B", Loader: "bootstrap", Name: "m", Descriptor: "(I)V", Modifiers: 0x11, Hidden: true,
	}
	stack := &Stack{Constant: 5, Truncated: true, Frames: []Frame{
		{Method: method, BCI: 12, Line: 34, Kind: Compiled}, {BCI: -1, Line: -1},
	}}
	require.Equal(t, []Record{
		&Chunk{Bytes: 999, StartNanos: 1_000_000, DurationNanos: 500, StartTicks: 77, TicksPerSecond: 1_000_000_000, State: 3, Last: true},
		&Event{
			Type: "jdk.CPUTimeSample", StartNanos: 999_997, PeriodNanos: 10_000_000, Thread: thread, Stack: stack,
			State: "STATE_RUNNABLE", Biased: True, Failed: False,
		},
		&Event{Type: "jdk.CPUTimeSample", StartNanos: 1_000_040},
		&Lost{StartNanos: 1_000_050, Thread: thread, Samples: 6},
		&Setting{Type: "jdk.CPUTimeSample", Name: "main", Value: "STATE_RUNNABLE"},
		&Pool{Type: "jdk.CPUTimeSample", Defined: 12, Referenced: 13},
		&Differing{Type: "main", Fields: "m", IDs: 14},
		&Link{Type: "main", From: "a.B", Field: "m", Referenced: 30, Lacking: 1},
		&Fault{Kind: Lacking, Type: "main", ID: 25, From: "a.B", Position: 140, Field: "m"},
		&Fault{Kind: Twice, Type: "main", ID: 26, From: "main", Position: 141, Field: "m"},
		&Window{Type: "jdk.CPUTimeSample", Events: 17, FirstNanos: -4, LastNanos: 900},
		&Problem{Chunk: 1, Offset: 999, Message: "no chunk begins here", Kind: Layout},
	}, records)
	require.Equal(t, Summary{
		Complete: true, Chunks: 1, Problems: 1, Events: 2, LostSamples: 6, Types: map[string]int64{"jdk.CPUTimeSample": 2},
	}, summary)
	require.EqualError(t, records[11].(*Problem), "chunk 1, offset 999 of the recording: no chunk begins here")
}

func TestTablesEndWithTheirChunk(t *testing.T) {
	s := newStream().record('C', uint(0), uint(0), uint(9), uint(0), uint(0), uint(0), uint(0), uint(0), uint(0)).record('S', "x").
		record('C', uint(1), uint(9), uint(9), uint(0), uint(0), uint(0), uint(0), uint(0), uint(0)).record('T', uint(1))
	_, _, err := collect(s.Bytes())
	require.EqualError(t, err, `record 4 ('T') of the stream: string 1 of 0`)
}

func TestAStreamThatEndsEarlyKeepsWhatWasRead(t *testing.T) {
	whole := example().Bytes()
	_, complete, err := collect(whole)
	require.NoError(t, err)
	for cut := range whole {
		records, summary, err := collect(whole[:cut])
		require.ErrorIs(t, err, ErrNoEnd, "%d bytes", cut)
		assert.False(t, summary.Complete)
		assert.LessOrEqual(t, len(records), complete.Chunks+11)
	}
}

func TestWrongStreams(t *testing.T) {
	bytesOf := func(tag byte, values ...any) []byte { return newStream().record(tag, values...).Bytes() }
	after := func(data ...byte) []byte { return append(newStream().Bytes(), data...) }
	none := uint(0)
	for name, tt := range map[string]struct {
		data []byte
		want string
	}{
		"no stream":         {[]byte("Picked up JAVA_TOOL_OPTIONS"), `begins with "Picked u", not "MISSREC2": build the helper`},
		"unknown tag":       {bytesOf('?'), `record 1 ('?') of the stream: unknown tag`},
		"long record":       {after('S', 0xff, 0xff, 0xff, 0x7f), `has 268435455 bytes; the limit is 1048576`},
		"string too long":   {after('S', 2, 9, 'x'), `record 1 ('S') of the stream: a value goes beyond the record`},
		"too many frames":   {bytesOf('K', uint(1), none, uint(1<<40)), `1099511627776 frames in 0 bytes`},
		"truths":            {bytesOf('E', none, 0, none, none, none, none, none, uint(3)), `truth values 0x3`},
		"record too short":  {bytesOf('Z', uint(1)), `record 1 ('Z') of the stream: a value goes beyond the record`},
		"frame's method":    {bytesOf('K', uint(1), none, uint(1), uint(3), 0, 0, none), `method 3 of 0`},
		"count":             {bytesOf('P', none, uint(1<<31)), "a count of 2147483648"},
		"kind of problem":   {bytesOf('X', none, none, "", uint(6)), "kind 6 of a problem"},
		"values from later": {bytesOf('Z', uint(1), none, none, none, none, none, uint(8)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := collect(tt.data)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestVisitEndsTheReading(t *testing.T) {
	enough := errors.New("enough")
	_, err := Read(example(), func(Record) error { return enough })
	require.Equal(t, enough, err)
}

// Whatever the bytes are, reading ends without panic, and what it returns is consistent.
func FuzzRead(f *testing.F) {
	f.Add(example().Bytes())
	f.Add(newStream().Bytes())
	f.Add(newStream().record('K', uint(1), uint(0), uint(200)).Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		var events int
		records, summary, err := collect(data)
		for _, record := range records {
			switch r := record.(type) {
			case *Event:
				events++
				assert.LessOrEqual(t, r.Failed, True)
				if r.Stack != nil {
					assert.LessOrEqual(t, len(r.Stack.Frames), len(data)/4)
				}
			case nil:
				t.Error("a nil record")
			}
		}
		assert.LessOrEqual(t, events, len(data))
		if err == nil {
			assert.NotNil(t, summary.Types)
		}
	})
}
