package vm

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// frames carries what a guest sends, through a file. A pipe would not do: the speed of its reader would decide when qemu finds it
// full, and the guest would notice in the middle of its run, at a different instruction each time. A file accepts everything at
// once.
type frames struct {
	write, read *os.File
	ended       <-chan struct{} // closed when the writer has ended
	offset      int64           // read so far
	freed       int64           // released to the file system
}

const (
	framesPoll = 10 * time.Millisecond
	// framesKept is how many bytes of what has been read stay on the disk.
	framesKept = 8 << 20
)

// newFrames creates the file in the machine's own folder.
func newFrames(dir string) (*frames, error) {
	path := filepath.Join(dir, "frames")
	write, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("making a file for the guest's frames: %w", err)
	}
	read, err := os.OpenFile(path, os.O_RDWR, 0) // RDWR, to free what is read
	err = errors.Join(err, os.Remove(path))      // its space is released with its descriptors
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making a file for the guest's frames: %w", err), write.Close())
	}
	return &frames{write: write, read: read}, nil
}

// Read waits for more until the writer has ended.
func (f *frames) Read(p []byte) (int, error) {
	for {
		ended := false
		select {
		case <-f.ended: // checked before reading, so that the end of the file is not missed
			ended = true
		default:
		}
		n, err := f.read.Read(p)
		f.offset += int64(n)
		if f.offset-f.freed >= framesKept {
			// A file system without holes keeps the space until the file is closed.
			_ = unix.Fallocate(int(f.read.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, f.freed, f.offset-f.freed)
			f.freed = f.offset
		}
		if n > 0 || err != nil && !errors.Is(err, io.EOF) {
			return n, err
		}
		if ended {
			return 0, io.EOF
		}
		time.Sleep(framesPoll)
	}
}

func (f *frames) close() { _, _ = f.write.Close(), f.read.Close() }
