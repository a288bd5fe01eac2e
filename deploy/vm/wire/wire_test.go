package wire

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFramesRoundTrip(t *testing.T) {
	frames := []Frame{
		{KindHello, []byte{Version}},
		{KindStdout, []byte("text")},
		{KindFileEnd, []byte{}},
		{KindData, bytes.Repeat([]byte{7}, MaxPayload)},
	}
	var stream []byte
	for _, f := range frames {
		var err error
		stream, err = Append(stream, f)
		require.NoError(t, err)
	}
	reader := bytes.NewReader(stream)
	for _, want := range frames {
		got, err := Read(reader)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	_, err := Read(reader)
	require.ErrorIs(t, err, io.EOF)
}

func TestAppendRefuses(t *testing.T) {
	_, err := Append(nil, Frame{KindData, make([]byte, MaxPayload+1)})
	require.ErrorContains(t, err, "at most 65536")
	_, err = Append(nil, Frame{})
	require.ErrorContains(t, err, "unknown kind 0")
}

func TestReadRefusesEveryDamage(t *testing.T) {
	good, err := Append(nil, Frame{KindStdout, []byte("some text")})
	require.NoError(t, err)
	for i := range good {
		if i == 1 {
			continue // a frame of another known kind is valid, too
		}
		damaged := bytes.Clone(good)
		damaged[i] ^= 0x80
		_, err := Read(bytes.NewReader(damaged))
		require.ErrorIs(t, err, ErrCorrupt, "byte %d", i)
	}
	for n := 1; n < len(good); n++ {
		_, err := Read(bytes.NewReader(good[:n]))
		require.ErrorIs(t, err, ErrCorrupt, "cut after %d", n)
	}
}

func FuzzRead(f *testing.F) {
	good, err := Append(nil, Frame{KindFile, Encode(FileHeader{Name: "a", Mode: 0o644, Size: 1})})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(append(bytes.Clone(good), 0xA5, 1, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0))
	f.Fuzz(func(t *testing.T, stream []byte) {
		reader := bytes.NewReader(stream)
		for {
			frame, err := Read(reader)
			if err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, ErrCorrupt) {
					t.Fatalf("neither the end nor corrupt: %v", err)
				}
				return
			}
			// Writing the frame again gives the same bytes.
			again, err := Append(nil, frame)
			require.NoError(t, err)
			end := len(stream) - reader.Len()
			require.Equal(t, stream[end-len(again):end], again)
		}
	})
}
