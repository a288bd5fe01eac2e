//go:build linux

package filelock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Folder makes a folder in dir, named by a pattern as os.MkdirTemp does, that is locked until unlock is called or its maker ends.
func Folder(dir, pattern string) (name string, unlock func(), err error) {
	for {
		name, err := os.MkdirTemp(dir, pattern)
		if err != nil {
			return "", nil, err
		}
		folder, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // swept before it was locked
		}
		if err != nil {
			return "", nil, err
		}
		if err := lock(folder, unix.LOCK_EX); err != nil {
			return "", nil, errors.Join(err, folder.Close())
		}
		if there(folder) {
			return name, func() { _ = folder.Close() }, nil
		}
		_ = folder.Close()
	}
}

// Sweep removes the folders in dir whose names match a pattern of path.Match, and whose makers have ended without removing them. It
// removes as many as it can; the error names the others.
func Sweep(dir, pattern string) error {
	left, err := fs.Glob(os.DirFS(dir), pattern) // not filepath.Glob: dir may have a "[" in its name
	errs := []error{err}
	for _, base := range left {
		name := filepath.Join(dir, base)
		folder, err := os.Open(name)
		if err != nil {
			continue // removed by its maker, or another user's
		}
		if lock(folder, unix.LOCK_EX|unix.LOCK_NB) == nil {
			errs = append(errs, os.RemoveAll(name))
		}
		errs = append(errs, folder.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("sweep %s: %w", dir, err)
	}
	return nil
}

func lock(file *os.File, how int) error {
	for {
		err := unix.Flock(int(file.Fd()), how)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("lock %s: %w", file.Name(), err)
		}
		return nil
	}
}

// there reports whether an open folder is still what its name leads to.
func there(folder *os.File) bool {
	named, err1 := os.Lstat(folder.Name())
	opened, err2 := folder.Stat()
	return err1 == nil && err2 == nil && os.SameFile(named, opened)
}
