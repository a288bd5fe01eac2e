package scratch

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

const (
	// entryBytes is what each file and folder counts as at least: inodes are not free either.
	entryBytes = 4 << 10
	// maxEntries and maxDepth bound what is measured: files and folders in all, and levels of folders. Each level takes a
	// descriptor while it is read.
	maxEntries = 1 << 18
	maxDepth   = 128
)

// ErrImmeasurable is in the chain of errors about a folder that holds more than can be measured.
var ErrImmeasurable = errors.New("it cannot be measured")

// Size returns the disk usage of what is in the folder, in bytes; each file and folder counts as 4 KiB at least. It stops when the
// sum is above limit. Files that disappear meanwhile do not count. An error wraps ErrImmeasurable if there are too many levels or
// files, or what is in the way of reading a folder: then the folder may hold anything.
func (f *Folder) Size(limit uint64) (uint64, error) {
	fd, err := unix.Open(f.Path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("measure %s: %w", f.Path, err)
	}
	top := os.NewFile(uintptr(fd), f.Path)
	defer top.Close()
	m := meter{limit: limit}
	err = m.walk(top, 1)
	return m.sum, err
}

type meter struct {
	limit, sum uint64
	entries    int
}

// walk adds what is in a folder; depth is its level, from 1.
func (m *meter) walk(folder *os.File, depth int) error {
	for m.sum <= m.limit {
		names, err := folder.Readdirnames(batch)
		if errors.Is(err, io.EOF) || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := m.add(folder, name, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *meter) add(folder *os.File, name string, depth int) error {
	var st unix.Stat_t
	err := unix.Fstatat(int(folder.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) || err == nil && m.sum > m.limit {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrImmeasurable, err)
	}
	if m.entries++; m.entries > maxEntries {
		return fmt.Errorf("%w: it holds more than %d files and folders", ErrImmeasurable, maxEntries)
	}
	m.sum += max(uint64(max(0, st.Blocks))*512, entryBytes) // see stat(2): st_blocks counts 512 bytes whatever the block size
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil
	}
	if depth == maxDepth {
		return fmt.Errorf("%w: its folders are nested more than %d deep", ErrImmeasurable, maxDepth)
	}
	fd, err := unix.Openat(int(folder.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) { // it has changed meanwhile
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrImmeasurable, err)
	}
	below := os.NewFile(uintptr(fd), name)
	defer below.Close()
	return m.walk(below, depth+1)
}
