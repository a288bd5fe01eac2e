package profiler

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

const (
	// maxFiles is the number of files of a recording that are looked at.
	maxFiles = 4096
	// A chunk's header has its time of start in nanoseconds since the epoch (HotSpot jfrChunkWriter.cpp).
	headerMagic, headerStart, headerSize = "FLR\x00", 32, 68
)

// ErrTooLarge says that a recording has more bytes than a trial may write.
var ErrTooLarge = errors.New("the recording is larger than the trial's limit of disk space")

// found is a file of a recording.
type found struct {
	path  string
	size  int64
	start uint64 // of its first chunk
}

// Recordings returns the files that a profiler's JVM left, which are one recording, in the order of their beginnings; none when it
// left none. It can be called after the JVM has ended, crashed, or was killed. When the JVM died while it made a copy of the
// recording, there are several, and the largest is returned. What is not a regular file is left out: the JVM's user may have put
// anything there.
func Recordings(p Profiler, at Place) ([]string, error) {
	var best []found
	var most int64
	for _, g := range p.groups() {
		folder := at.Out
		if g.inWork {
			folder = at.Work
		}
		files, err := g.find(folder)
		if err != nil {
			return nil, fmt.Errorf("find the recording of %s: %w", p.Name(), err)
		}
		var size int64
		for _, f := range files {
			size += f.size
		}
		if size > most {
			best, most = files, size
		}
	}
	paths := make([]string, 0, len(best))
	for _, f := range best {
		paths = append(paths, f.path)
	}
	return paths, nil
}

// find returns the files of a group.
func (g group) find(folder string) ([]found, error) {
	root, err := os.OpenRoot(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	names, err := fs.Glob(root.FS(), g.pattern) // links that lead outside of the folder match nothing
	if err != nil {
		return nil, err
	}
	var all []found
	for _, name := range names[:min(len(names), maxFiles)] {
		f, err := examine(root, name)
		if err != nil {
			return nil, err
		}
		if f.size >= headerSize {
			f.path = filepath.Join(folder, name)
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.path, b.path)) })
	return all, nil
}

// examine returns size and start of a recording, no size for what is none.
func examine(root *os.Root, name string) (found, error) {
	var none found
	f, err := openRegular(root, name)
	if f == nil || err != nil {
		return none, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return none, err
	}
	header := make([]byte, headerSize)
	if _, err := io.ReadFull(f, header); err != nil || string(header[:len(headerMagic)]) != headerMagic {
		return none, nil
	}
	return found{size: info.Size(), start: binary.BigEndian.Uint64(header[headerStart:])}, nil
}

// openRegular opens a regular file; it returns nil for anything else.
func openRegular(root *os.Root, name string) (*os.File, error) {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil || !info.Mode().IsRegular() {
		return nil, err
	}
	return root.OpenFile(name, os.O_RDONLY, 0)
}

// readSmall reads the beginning of a regular file in a folder; it returns nothing for anything else.
func readSmall(folder, name string) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := openRegular(root, name)
	if f == nil || err != nil {
		return nil, err
	}
	defer f.Close()
	const most = 64 << 10
	return io.ReadAll(io.LimitReader(f, most))
}

// Join writes the files of one recording to one file, which must not exist: chunks may follow each other in a recording. They
// may have at most so many bytes: files with holes, which the JVM's user may have left, take up little space.
func Join(files []string, target string, most int64) (err error) {
	to, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("join the chunks of a recording: %w", err)
	}
	defer func() {
		if err = errors.Join(err, to.Close()); err != nil {
			err = errors.Join(err, os.Remove(target))
		}
	}()
	for _, path := range files {
		from, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
		if err != nil {
			return fmt.Errorf("join the chunks of a recording: %w", err)
		}
		n, err := io.Copy(to, io.LimitReader(from, most+1))
		if most -= n; err == nil && most < 0 {
			err = ErrTooLarge
		}
		if err = errors.Join(err, from.Close()); err != nil {
			return fmt.Errorf("join the chunks of a recording: %w", err)
		}
	}
	return nil
}
