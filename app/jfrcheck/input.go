package jfrcheck

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/dustin/go-humanize"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

// Stdin is the name of the file that stands for standard input.
const Stdin = "-"

// mostWindow bounds the memory that unpacking takes, in bytes.
const mostWindow = 64 << 20

// ErrInput is wrapped by errors about a file that is no recording.
var ErrInput = errors.New("not a JFR recording")

// errOver is why the input of Options.For has ended.
var errOver = errors.New("its time is over")

// ErrUnreadable is wrapped by errors about a recording of which no chunk can be read; they have the offset.
var ErrUnreadable = errors.New("no chunk of the recording can be read")

// form is what a file is by its first bytes.
type form struct {
	name, magic string
	// unpack is nil for a recording as it is and for what is refused with a remedy.
	unpack func(io.Reader) (io.ReadCloser, error)
	remedy string
}

var forms = []form{
	{name: "jfr", magic: "FLR\x00"},
	{name: "gzip", magic: "\x1f\x8b", unpack: func(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) }},
	{name: "zstd", magic: "\x28\xb5\x2f\xfd", unpack: func(r io.Reader) (io.ReadCloser, error) {
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(mostWindow))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}},
	{name: "lz4", magic: "\x04\x22\x4d\x18", remedy: "unpack it with `lz4 -d` first"},
	{name: "zip", magic: "PK\x03\x04", remedy: "unpack it with `unzip` first"},
	{name: "xz", magic: "\xfd7zXZ\x00", remedy: "unpack it with `xz -d` first"},
}

// headBytes tell the forms apart.
const headBytes = 8

func formOf(head []byte) (form, error) {
	for _, f := range forms {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			if f.remedy != "" {
				return f, fmt.Errorf("%w but a %s file: %s", ErrInput, f.name, f.remedy)
			}
			return f, nil
		}
	}
	if len(head) == 0 {
		return form{}, fmt.Errorf("%w: it is empty", ErrInput)
	}
	return form{name: foreign}, fmt.Errorf("%w: at offset 0 are the bytes % x, where one begins with FLR", ErrInput, head)
}

// foreign is the form of what is neither a recording nor packed.
const foreign = "foreign"

// admitted is formOf, which takes what is foreign where the options permit it.
func (o Options) admitted(head []byte) (form, error) {
	f, err := formOf(head)
	if o.foreign && f.name == foreign {
		return f, nil
	}
	return f, err
}

// input is a recording in a regular file.
type input struct {
	path, form string
	bytes      int64
	temporary  bool
	// foreign reports that it is no recording.
	foreign bool
	// cut is why a stream was not read, or a packed file not unpacked, to its end; nil if it was.
	cut error
}

// Close removes a temporary file.
func (i *input) Close() error {
	if !i.temporary {
		return nil
	}
	return os.Remove(i.path)
}

// openInput finds out what a file is. Packed recordings and those that come through a pipe are copied to a temporary file, of
// bounded size: a recording that has more is refused. Of one that does not end, what came before the context was done is the input.
func openInput(ctx context.Context, name string, o Options) (*input, error) {
	stream, closer := o.Stdin, io.Closer(io.NopCloser(nil))
	regular := false
	if name != Stdin {
		file, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0) // a named pipe without a writer would wait in open
		if err != nil {
			return nil, err
		}
		stream, closer = file, file
		info, err := file.Stat()
		if err == nil && info.IsDir() {
			err = fmt.Errorf("%w but a folder: name its files", ErrInput)
		}
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		regular = info.Mode().IsRegular()
		if regular && info.Size() == 0 {
			return nil, errors.Join(fmt.Errorf("%w: it is empty", ErrInput), file.Close())
		}
		if regular && info.Size() > o.MaxBytes {
			return nil, errors.Join(tooLarge(o.MaxBytes), file.Close())
		}
	}
	defer closer.Close()
	if o.For > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.For, errOver)
		defer cancel()
	}
	buffered := bufio.NewReaderSize(&untilDone{ctx, stream}, 1<<16)
	head, err := buffered.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	f, err := o.admitted(head)
	if err != nil {
		return nil, err
	}
	if regular && f.unpack == nil {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		return &input{path: name, form: f.name, bytes: info.Size(), foreign: f.name == foreign}, nil
	}
	return spool(ctx, buffered, f, o)
}

func tooLarge(most int64) error {
	return fmt.Errorf("the recording has more than %s: check a part of it (`jfr disassemble`), or give a larger --max-size",
		humanize.IBytes(uint64(most)))
}

// spool copies a recording to a temporary file.
func spool(ctx context.Context, packed io.Reader, f form, o Options) (in *input, err error) {
	contents := io.NopCloser(packed)
	if f.unpack != nil {
		if contents, err = f.unpack(packed); err != nil {
			return nil, fmt.Errorf("unpack the %s file: %w", f.name, err)
		}
	}
	defer contents.Close()
	file, err := os.CreateTemp(o.TempDir, "misstep-*.jfr")
	if err != nil {
		return nil, err
	}
	copied := &input{path: file.Name(), form: f.name, temporary: true}
	defer func() {
		if closed := file.Close(); err == nil {
			err = closed
		}
		if err != nil {
			in = nil
			_ = copied.Close()
		}
	}()
	copied.bytes, err = io.Copy(file, io.LimitReader(contents, o.MaxBytes+1))
	switch {
	case copied.bytes > o.MaxBytes:
		return nil, tooLarge(o.MaxBytes)
	case err != nil && ctx.Err() != nil && copied.bytes > 0:
		copied.cut = fmt.Errorf("the input was ended after %s: %w", humanize.IBytes(uint64(copied.bytes)), context.Cause(ctx))
	case err != nil && f.unpack != nil && copied.bytes > 0:
		copied.cut = fmt.Errorf("unpacking the %s file ended after %d bytes: %w", f.name, copied.bytes, err)
	case err != nil:
		return nil, fmt.Errorf("copy the recording: %w", err)
	}
	head := make([]byte, headBytes)
	n, _ := file.ReadAt(head, 0)
	inner, err := o.admitted(head[:n])
	if err == nil && inner.unpack != nil {
		err = fmt.Errorf("%w but a %s file", ErrInput, inner.name)
	}
	if err != nil {
		return nil, fmt.Errorf("in the %s file: %w", f.name, err)
	}
	copied.foreign = inner.name == foreign
	return copied, nil
}

// untilDone reads until the context is done: a pipe may never end, nor have anything to read.
type untilDone struct {
	ctx context.Context
	in  io.Reader
}

// Read fails once the context is done.
func (u *untilDone) Read(p []byte) (int, error) {
	for {
		if u.ctx.Err() != nil {
			return 0, context.Cause(u.ctx)
		}
		if readable(u.in) {
			return u.in.Read(p)
		}
	}
}

// pollTime is the time in milliseconds for which a file is asked whether it can be read.
const pollTime = 100

// readable reports whether reading would not wait: there is something to read, or an end, or an error.
func readable(in io.Reader) bool {
	file, ok := in.(syscall.Conn)
	if !ok {
		return true
	}
	ready := true
	conn, err := file.SyscallConn()
	if err == nil {
		err = conn.Control(func(fd uintptr) {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, pollTime) // a descriptor is small
			ready = n > 0 || err != nil && !errors.Is(err, unix.EINTR)
		})
	}
	return ready || err != nil // reading says what is wrong
}
