package agent

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stackBytes makes a record; values are int or string.
func stackBytes(tag byte, values ...any) []byte {
	var payload []byte
	for _, v := range values {
		switch v := v.(type) {
		case int:
			payload = binary.AppendUvarint(payload, uint64(v))
		case string:
			payload = append(binary.AppendUvarint(payload, uint64(len(v))), v...)
		}
	}
	return append(binary.AppendUvarint([]byte{tag}, uint64(len(payload))), payload...)
}

func stackFile(records ...[]byte) []byte {
	return append([]byte(stacksMagic), bytes.Join(records, nil)...)
}

func TestStacksOfRounds(t *testing.T) {
	file := stackFile(
		stackBytes('H', 1, "main"), stackBytes('F', "a.B", "m", 7), stackBytes('F', "a.B", "main", 0),
		stackBytes('R', 1000, 5, 1, 2, 3, 1, 2),
		stackBytes('H', 9, "other"),
		stackBytes('R', 2000, 6, 2, 3, 0, 4, 2, 2),
		stackBytes('G', 3000, 7, 1, 1, 2),
		stackBytes('Z'))
	var got []StackRound
	summary, err := ParseStacks(bytes.NewReader(file), func(r StackRound) error {
		got = append(got, r)
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, StackSummary{Rounds: 2, Full: true}, summary)
	main, other := &StackThread{1, "main"}, &StackThread{9, "other"}
	stack := []StackFrame{{"a.B", "m", 7}, {"a.B", "main", 0}}
	assert.Equal(t, []StackRound{
		{1000, 1005, false, []ThreadStack{{main, stack, false}}},
		{2000, 2006, false, []ThreadStack{{main, stack, true}, {other, stack[1:], false}}},
		{3000, 3007, true, []ThreadStack{{main, stack[1:], true}}},
	}, got)
}

// A JVM may die in the middle of a record.
func TestStacksAreReadUpToTheCut(t *testing.T) {
	file := stackFile(stackBytes('H', 1, "main"), stackBytes('R', 1000, 5, 1, 2, 1))
	whole := len(file)
	file = append(file, stackBytes('R', 2000, 5, 1, 2, 1)...)
	for end := len(stacksMagic); end <= len(file); end++ {
		summary, err := ParseStacks(bytes.NewReader(file[:end]), func(StackRound) error { return nil })
		require.NoError(t, err, "%d bytes", end)
		if end > whole && end < len(file) {
			assert.Equal(t, StackSummary{Rounds: 1, Cut: true}, summary, "%d bytes", end)
		}
	}
}

func TestBrokenStacksAreNamed(t *testing.T) {
	for says, file := range map[string][]byte{
		`begins with "MISSTAP1"`:    []byte("MISSTAP1"),
		"tag 'X' is unknown":        stackFile(stackBytes('X')),
		"thread 1 of 0":             stackFile(stackBytes('R', 1, 1, 1, 2, 0)),
		"thread 7 of 0":             stackFile(stackBytes('G', 1, 1, 7, 0)),
		"frame 2 of 0":              stackFile(stackBytes('H', 1, "a"), stackBytes('R', 1, 1, 1, 2, 2, 2)),
		"900 frames in":             stackFile(stackBytes('H', 1, "a"), stackBytes('R', 1, 1, 1, 2, 901)),
		"77 threads in":             stackFile(stackBytes('R', 1, 1, 77)),
		"a text goes beyond":        stackFile([]byte{'H', 2, 1, 9}),
		"a value goes beyond":       stackFile([]byte{'H', 0}),
		"bytes; the limit is 67108": stackFile([]byte{'R', 0xff, 0xff, 0xff, 0xff, 0xff, 1}),
	} {
		_, err := ParseStacks(bytes.NewReader(file), func(StackRound) error { return nil })
		require.ErrorIs(t, err, ErrStacks)
		assert.ErrorContains(t, err, says)
	}
}

// A frame of one byte takes forty: what threads hold is bounded, and so is a round that has one thread again and again.
func TestStacksOfMillionsOfFramesAreRefused(t *testing.T) {
	stack := append(binary.AppendUvarint(nil, stacksMostDepth+1), bytes.Repeat([]byte{1}, stacksMostDepth)...)
	records := [][]byte{stackBytes('F', "a.B", "m", 7)}
	most := stacksMostHeld / stacksMostDepth
	for range most + 1 {
		records = append(records, stackBytes('H', 1, "a"))
	}
	round := func(threads ...int) []byte {
		payload := binary.AppendUvarint([]byte{1, 1}, uint64(len(threads)))
		for _, thread := range threads {
			payload = append(binary.AppendUvarint(payload, 2*uint64(thread)), stack...)
		}
		return append(binary.AppendUvarint([]byte{'R'}, uint64(len(payload))), payload...)
	}
	rounds := slices.Clone(records)
	for thread := range most + 1 {
		rounds = append(rounds, round(thread+1))
	}
	again := append(records, round(slices.Repeat([]int{1}, most+1)...))
	for what, file := range map[string][][]byte{"threads": rounds, "one thread": again} {
		_, err := ParseStacks(bytes.NewReader(stackFile(file...)), func(StackRound) error { return nil })
		require.ErrorContains(t, err, "more than 8388608 frames", what)
	}
	_, err := ParseStacks(bytes.NewReader(stackFile(rounds[:len(rounds)-1]...)), func(StackRound) error { return nil })
	require.NoError(t, err, "as many are read")
}

func TestStacksVisitorsErrorIsReturned(t *testing.T) {
	enough := errors.New("enough")
	_, err := ParseStacks(bytes.NewReader(stackFile(stackBytes('R', 1, 1, 0))), func(StackRound) error { return enough })
	require.ErrorIs(t, err, enough)
	require.NotErrorIs(t, err, ErrStacks)
}

func FuzzParseStacks(f *testing.F) {
	f.Add(stackFile(stackBytes('H', 1, "main"), stackBytes('F', "a.B", "m", 7), stackBytes('R', 1000, 5, 1, 2, 2, 1),
		stackBytes('G', 1000, 5, 1, 1, 1), stackBytes('Z')))
	f.Add(stackFile(stackBytes('R', 1, 1, 77), []byte{'H', 2, 1, 9}))
	f.Fuzz(func(t *testing.T, data []byte) {
		rounds := 0
		summary, err := ParseStacks(bytes.NewReader(data), func(r StackRound) error {
			if !r.Again {
				rounds++
			}
			for _, s := range r.Stacks {
				if s.Thread == nil {
					t.Error("a stack has no thread")
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, ErrStacks) {
			t.Errorf("error %v", err)
		}
		if summary.Rounds != rounds {
			t.Errorf("%d rounds, visited %d", summary.Rounds, rounds)
		}
	})
}
