package jfrcheck

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/runner/recording"
)

// streamReader gives the records of a stream as the helper writes it (runner/recording/format.go).
type streamReader []byte

func (s streamReader) Read(
	_ context.Context, _ string, _ recording.Limits, visit func(recording.Record) error,
) (recording.Summary, error) {
	return recording.Read(bytes.NewReader(s), visit)
}

// record appends a record; values are uint for unsigned ones, int for those with zigzag encoding, strings.
func streamRecord(to []byte, tag byte, values ...any) []byte {
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
	return append(binary.AppendUvarint(append(to, tag), uint64(len(payload))), payload...)
}

// stream is a recording of one chunk with an event whose stack has two frames.
func stream() []byte {
	s := []byte("MISSREC2")
	for _, r := range []struct {
		tag    byte
		values []any
	}{
		{'C', []any{uint(0), uint(0), uint(999), uint(began), uint(500), uint(77), uint(second), uint(0), uint(1)}},
		{'S', []any{"jdk.ExecutionSample"}},
		{'S', []any{"main"}},
		{'S', []any{"p.Main"}},
		{'S', []any{"(I)V"}},
		{'T', []any{uint(1)}},
		{'H', []any{uint(9), uint(4711), uint(1), uint(2), uint(2), uint(1)}},
		{'M', []any{uint(70), uint(71), uint(3), uint(2), uint(2), uint(4), uint(9), uint(0)}},
		{'K', []any{uint(5), uint(1), uint(2), uint(1), 12, 34, uint(2), uint(1), -1, -1, uint(9)}},
		{'E', []any{uint(1), 3, uint(0), uint(0), uint(1), uint(1), uint(2), uint(0)}},
		{'E', []any{uint(1), 40, uint(0), uint(0), uint(0), uint(0), uint(0), uint(0)}},
		{'L', []any{50, uint(1), uint(6)}},
		{'R', []any{uint(2), uint(3), uint(4), uint(30), uint(1)}},
		{'U', []any{uint(2), uint(25), uint(3), uint(140), uint(4)}},
		{'V', []any{uint(1), uint(17), 4, 90}},
		{'X', []any{uint(1), uint(999), "no chunk begins here", uint(4)}},
		{'N', []any{"jdk.ExecutionSample", uint(2)}},
		{'Z', []any{uint(1), uint(1), uint(1), uint(2), uint(0), uint(6)}},
	} {
		s = streamRecord(s, r.tag, r.values...)
	}
	return s
}

func TestStream(t *testing.T) {
	o := Options{Files: []string{recordingFile(t)}, MaxBytes: 1 << 20, Top: 5, ClassPath: t.TempDir()}
	r, failed, err := Run(t.Context(), streamReader(stream()).Read, o)
	require.NoError(t, err)
	require.Empty(t, failed)
	require.Len(t, r.Samplers, 2)
	assert.Equal(t, Counts{Samples: 2, Empty: 1, Truncated: 1}, r.Samplers[1].Counts)
	assert.Len(t, r.Faults, 2)
	assert.Contains(t, r.Notes, "1 classes are on no class path given: p.Main")
}

// A check that is interrupted reports what it has read: of a stream what came, of a recording what was read of it; no further one.
func TestInterruptedCheck(t *testing.T) {
	in, taken := unended(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		taken()
		cancel()
	}()
	file := recordingFile(t)
	o := Options{Files: []string{Stdin, file}, Stdin: in, TempDir: t.TempDir(), MaxBytes: 1 << 20, Top: 5}
	whole := func(
		ctx context.Context, _ string, _ recording.Limits, visit func(recording.Record) error,
	) (recording.Summary, error) {
		require.NoError(t, ctx.Err(), "what came is read to its end")
		return recording.Read(bytes.NewReader(stream()), visit)
	}
	r, failed, err := Run(ctx, whole, o)
	require.NoError(t, err)
	require.Len(t, r.Recordings, 1)
	assert.Contains(t, r.Recordings[0].Incomplete, "the input was ended after")
	assert.EqualValues(t, 2, r.Samplers[1].Samples)
	require.Len(t, failed, 1)
	require.ErrorContains(t, failed[0], file)

	ctx, cancel = context.WithCancel(t.Context())
	o.Files = []string{file, Stdin}
	r, failed, err = Run(ctx, func(
		ctx context.Context, name string, limits recording.Limits, visit func(recording.Record) error,
	) (recording.Summary, error) {
		summary, err := whole(ctx, name, limits, visit)
		cancel()
		return summary, errors.Join(err, ctx.Err())
	}, o)
	require.NoError(t, err)
	require.Len(t, r.Recordings, 1)
	assert.Equal(t, "the reading was ended: context canceled", r.Recordings[0].Incomplete)
	require.Len(t, failed, 1)

	_, _, err = Run(ctx, whole, o)
	require.ErrorIs(t, err, context.Canceled, "nothing was read")
}

// Whatever a recording says, a check and a comparison end with a report.
func FuzzStream(f *testing.F) {
	f.Add(stream())
	f.Fuzz(func(t *testing.T, data []byte) {
		file := recordingFile(t)
		o := Options{Files: []string{file}, MaxBytes: 1 << 20, Top: 5, ClassPath: t.TempDir()}
		r, _, err := Run(t.Context(), streamReader(data).Read, o)
		require.NoError(t, err)
		require.NoError(t, renderPage(io.Discard, "report.html", r))
		for _, c := range r.Checks[1:] { // jfr-chunks adds up what the helper counted, in which no recording has a say
			require.Less(t, c.Wrong, uint64(1)<<40, c.Name) // no count goes below zero
			require.Less(t, c.Right, uint64(1)<<40, c.Name)
		}
		d, err := Diff(t.Context(), streamReader(data).Read, DiffOptions{A: file, B: file, MaxBytes: 1 << 20, Level: 0.05, Top: 5})
		if err == nil {
			require.True(t, d.Equal(), "a recording does not differ from itself")
		}
	})
}
