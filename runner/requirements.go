package runner

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Space requires that a folder is writable and that its file system has at least mib MiB free.
func Space(name, folder string, mib uint64) Requirement {
	return Requirement{Name: name, Check: func(context.Context) error {
		if err := writable(folder); err != nil {
			return fmt.Errorf("%w; make the folder writable or choose another", err)
		}
		var s unix.Statfs_t
		if err := unix.Statfs(folder, &s); err != nil {
			return fmt.Errorf("free space of %s: %w", folder, err)
		}
		if free := s.Bavail * uint64(s.Bsize) >> 20; free < mib {
			return fmt.Errorf("%s has %d MiB free, %d are needed: free some space or choose another folder", folder, free, mib)
		}
		return nil
	}}
}

// writable makes a file without a name, which leaves nothing however this process ends, or one with a name where the file system
// has no such files.
func writable(folder string) error {
	if f, err := os.OpenFile(folder, unix.O_TMPFILE|os.O_WRONLY, 0o600); err == nil {
		return f.Close()
	}
	f, err := os.CreateTemp(folder, ".ready-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// Files requires that files are readable.
func Files(name string, paths ...string) Requirement {
	return Requirement{Name: name, Check: func(context.Context) error {
		for _, path := range paths {
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			_ = f.Close()
		}
		return nil
	}}
}
