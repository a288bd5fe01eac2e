package localdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// create makes a file in tmp that is locked while its writer lives, by which sweep distinguishes dead from living writers.
func (s *Store) create() (*os.File, error) {
	for {
		file, err := os.CreateTemp(s.tmp(), "put-*")
		if err != nil {
			return nil, err
		}
		if err := lock(file, unix.LOCK_EX); err != nil {
			_ = os.Remove(file.Name())
			_ = file.Close()
			return nil, err
		}
		// A sweep may have removed the file between creation and lock: then make a new one.
		var stat unix.Stat_t
		if err := unix.Fstat(int(file.Fd()), &stat); err == nil && stat.Nlink > 0 {
			return file, nil
		}
		_ = file.Close()
	}
}

// sweep removes temporary files of dead writers.
func (s *Store) sweep() error {
	entries, err := os.ReadDir(s.tmp())
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := filepath.Join(s.tmp(), entry.Name())
		file, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if lock(file, unix.LOCK_EX|unix.LOCK_NB) == nil {
			err = os.Remove(name)
		}
		_ = file.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func lock(file *os.File, how int) error {
	for {
		if err := unix.Flock(int(file.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
