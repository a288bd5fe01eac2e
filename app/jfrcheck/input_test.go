package jfrcheck

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const someRecording = "FLR\x00\x00\x02\x00\x01 and more"

func gzipped(t *testing.T, data string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := io.WriteString(z, data)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.String()
}

func written(t *testing.T, data string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(data), 0o600))
	return path
}

func TestPackedRecordings(t *testing.T) {
	var zstandard bytes.Buffer
	z, err := zstd.NewWriter(&zstandard)
	require.NoError(t, err)
	_, err = io.WriteString(z, someRecording)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	for form, data := range map[string]string{"gzip": gzipped(t, someRecording), "zstd": zstandard.String(), "jfr": someRecording} {
		for _, pipe := range []bool{false, true} {
			o := Options{TempDir: t.TempDir(), MaxBytes: 1 << 20, Stdin: strings.NewReader(data)}
			name := Stdin
			if !pipe {
				name = written(t, data)
			}
			in, err := openInput(t.Context(), name, o)
			require.NoError(t, err, form)
			assert.Equal(t, form, in.form)
			assert.EqualValues(t, len(someRecording), in.bytes)
			got, err := os.ReadFile(in.path)
			require.NoError(t, err)
			assert.Equal(t, someRecording, string(got))
			require.NoError(t, in.Close())
			left, err := os.ReadDir(o.TempDir)
			require.NoError(t, err)
			assert.Empty(t, left)
		}
	}
}

// What is no recording is refused with what it is, and leaves nothing behind.
func TestFilesThatAreNoRecordings(t *testing.T) {
	whole := gzipped(t, strings.Repeat(someRecording, 1000))
	for name, c := range map[string]struct{ data, want string }{
		"empty":          {"", "it is empty"},
		"text":           {"hello, world", "at offset 0 are the bytes 68 65 6c 6c 6f 2c 20 77"},
		"lz4":            {"\x04\x22\x4d\x18 and so on", "lz4 -d"},
		"zip":            {"PK\x03\x04 and so on", "unzip"},
		"xz":             {"\xfd7zXZ\x00\x00\x04", "xz -d"},
		"gzip of text":   {gzipped(t, "hello, world"), "in the gzip file"},
		"gzip of gzip":   {gzipped(t, whole), "in the gzip file"},
		"gzip of empty":  {gzipped(t, ""), "in the gzip file"},
		"gzip's head":    {whole[:6], "unpack the gzip file"},
		"too large":      {"FLR\x00" + strings.Repeat("x", 1<<20), "more than 1.0 MiB"},
		"gzip too large": {gzipped(t, "FLR\x00"+strings.Repeat("x", 1<<20)), "more than 1.0 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{TempDir: t.TempDir(), MaxBytes: 1 << 20}
			_, err := openInput(t.Context(), written(t, c.data), o)
			require.ErrorContains(t, err, c.want)
			left, err := os.ReadDir(o.TempDir)
			require.NoError(t, err)
			assert.Empty(t, left)
		})
	}
}

func TestPackedRecordingThatIsCut(t *testing.T) {
	var text strings.Builder
	for i := range 100_000 {
		text.WriteString(string(rune('a' + i*i%23)))
	}
	whole := gzipped(t, "FLR\x00"+text.String())
	in, err := openInput(t.Context(), written(t, whole[:len(whole)/2]), Options{TempDir: t.TempDir(), MaxBytes: 1 << 20})
	require.NoError(t, err)
	require.ErrorIs(t, in.cut, io.ErrUnexpectedEOF)
	assert.Positive(t, in.bytes)
	require.NoError(t, in.Close())
}

// endless has a recording's first bytes and no end.
type endless struct{ begun bool }

func (e *endless) Read(p []byte) (int, error) {
	if !e.begun {
		e.begun = true
		return copy(p, someRecording), nil
	}
	return len(p), nil
}

func TestPipeThatNeverEnds(t *testing.T) {
	o := Options{TempDir: t.TempDir(), MaxBytes: 1 << 20, Stdin: &endless{}}
	_, err := openInput(t.Context(), Stdin, o)
	require.ErrorContains(t, err, "more than 1.0 MiB")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o.Stdin = &endless{}
	_, err = openInput(ctx, Stdin, o)
	require.ErrorIs(t, err, context.Canceled)
}

// unended is a pipe with a recording in it that nobody ends; taken waits until all of it was read.
func unended(t *testing.T) (in *os.File, taken func()) {
	t.Helper()
	in, out, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = errors.Join(in.Close(), out.Close()) })
	_, err = out.WriteString(someRecording)
	require.NoError(t, err)
	return in, func() {
		assert.Eventually(t, func() bool {
			left, err := unix.IoctlGetInt(int(in.Fd()), unix.TIOCINQ)
			return err == nil && left == 0
		}, time.Minute, time.Millisecond)
	}
}

// What came before the context was done, or the time was over, is the input.
func TestPipeIsEnded(t *testing.T) {
	in, taken := unended(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	go func() {
		taken()
		cancel(why)
	}()
	cut, err := openInput(ctx, Stdin, Options{TempDir: t.TempDir(), MaxBytes: 1 << 20, Stdin: in})
	require.NoError(t, err)
	require.ErrorIs(t, cut.cut, why)
	assert.EqualValues(t, len(someRecording), cut.bytes)

	in, _ = unended(t)
	o := Options{TempDir: t.TempDir(), MaxBytes: 1 << 20, Stdin: in, For: 2 * time.Second}
	cut, err = openInput(t.Context(), Stdin, o)
	require.NoError(t, err)
	require.ErrorIs(t, cut.cut, errOver)

	pipe := filepath.Join(t.TempDir(), "pipe.jfr") // that nobody writes to
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err = openInput(t.Context(), pipe, Options{MaxBytes: 1 << 20, For: time.Millisecond})
	require.ErrorIs(t, err, errOver)
}

// Devices and named pipes are read no further than regular files would be.
func TestFilesThatNeverEnd(t *testing.T) {
	o := Options{TempDir: t.TempDir(), MaxBytes: 1 << 20}
	_, err := openInput(t.Context(), "/dev/zero", o)
	require.ErrorContains(t, err, "at offset 0 are the bytes 00 00")
	pipe := filepath.Join(t.TempDir(), "pipe.jfr")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	written := make(chan error, 1)
	go func() {
		file, err := os.OpenFile(pipe, os.O_WRONLY, 0)
		if err == nil {
			_, err = io.Copy(file, &endless{})
		}
		written <- err
	}()
	_, err = openInput(t.Context(), pipe, o)
	require.ErrorContains(t, err, "more than 1.0 MiB")
	require.ErrorIs(t, <-written, syscall.EPIPE)
}

func FuzzInput(f *testing.F) {
	f.Add([]byte(someRecording))
	f.Add([]byte("\x1f\x8b\x08\x00"))
	f.Add([]byte("\x28\xb5\x2f\xfd\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		in, err := openInput(t.Context(), Stdin, Options{TempDir: dir, MaxBytes: 1 << 20, Stdin: bytes.NewReader(data)})
		if err == nil {
			require.NoError(t, in.Close())
		}
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left)
	})
}
