package altered

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/runner/recording"
)

func trace(names ...string) []recording.Frame {
	var frames []recording.Frame
	for i, name := range names {
		frames = append(frames, recording.Frame{Method: &recording.Method{Name: name}, BCI: int32(i), Line: int32(10 * i)})
	}
	return frames
}

func TestAFaultLeavesTheTraceAsItIsAndChangesACopy(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	other := func() []recording.Frame { return trace("x", "y") }
	want := map[string][]string{
		TopDropped: {"b", "c", "d"}, BottomDropped: {"a", "b", "c"}, MiddleDropped: {"a", "c", "d"}, Doubled: {"a", "b", "b", "c", "d"},
		Exchanged: {"a", "c", "b", "d"}, LowerHalf: {"a", "y"}, HalfLost: {"a", "b"}, WrongBCI: {"a", "b", "c", "d"},
		WrongLine: {"a", "b", "c", "d"}, MethodRemoved: {"a", "", "c", "d"},
	}
	for _, f := range Faults {
		frames := trace("a", "b", "c", "d")
		before := slices.Clone(frames)
		changed := f.Apply(random, other, frames, 1)
		require.Equal(t, before, frames, f.Class)
		require.NotEqual(t, before, changed, f.Class)
		var names []string
		for _, frame := range changed {
			name := ""
			if frame.Method != nil {
				name = frame.Method.Name
			}
			names = append(names, name)
		}
		if f.Class == WrongMethod {
			require.Contains(t, []string{"x", "y"}, names[1])
			continue
		}
		require.Equal(t, want[f.Class], names, f.Class)
	}
}

func TestReplacements(t *testing.T) {
	stack := func(id uint64) *recording.Stack { return &recording.Stack{Constant: id, Frames: trace("a")} }
	event := func(kind string, at, thread int64, s *recording.Stack) *recording.Event {
		return &recording.Event{Type: kind, StartNanos: at, Thread: &recording.Thread{OS: thread}, Stack: s}
	}
	own, foreign, late := stack(1), stack(2), stack(1)
	first, second := event("s", 10, 7, own), event("s", 20, 8, foreign)
	third, last := event("other", 30, 8, own), event("s", 40, 7, late)
	r := Index([]recording.Record{
		&recording.Chunk{Index: 0}, second, first, third, &recording.Event{Type: "s"}, &recording.Chunk{Index: 1}, last,
	})
	random := rand.New(rand.NewPCG(1, 2))
	require.Same(t, own, r.Replace(random, Stale, last), "of its thread")
	require.Same(t, foreign, r.Replace(random, OtherThread, last), "of its type")
	require.Same(t, own, r.Replace(random, OtherEpoch, last))
	require.Same(t, foreign, r.Replace(random, StacksSwapped, first), "of its chunk")
	require.Nil(t, r.Replace(random, StacksSwapped, last), "its chunk has no other")
	require.Nil(t, r.Replace(random, Stale, first))
	require.Nil(t, r.Replace(random, OtherEpoch, second))
	require.Nil(t, r.Replace(random, Stale, &recording.Event{}))
}

// chunk has a header and a pool of symbols whose ids have one byte.
func chunk(names ...string) []byte {
	data := make([]byte, headerSize)
	for i, name := range names {
		data = append(append(data, byte(i+1), 3, byte(len(name))), name...)
	}
	data = append(data, 0, 0, 0)
	binary.BigEndian.PutUint64(data[atSize:], uint64(len(data)))
	return data
}

func TestChunksAndTheirConstants(t *testing.T) {
	one, other := chunk("repetition", "b", "c", "d"), chunk("x")
	chunks, err := Split(slices.Concat(one, other))
	require.NoError(t, err)
	require.Equal(t, [][]byte{one, other}, chunks)
	for _, bad := range [][]byte{{1, 2}, one[:len(one)-1], make([]byte, headerSize)} {
		_, err = Split(bad)
		require.ErrorContains(t, err, "split the recording")
	}
	a, b, err := pair(rand.New(rand.NewPCG(1, 2)), one)
	require.NoError(t, err)
	require.Equal(t, a[0]+1, b[0], "neighbours")
	require.Greater(t, a[0], byte(1), "not the text that is looked for")
	_, _, err = pair(rand.New(rand.NewPCG(1, 2)), other)
	require.ErrorIs(t, err, errNoPair)
}
