// Package regular opens files that a program of others may have replaced by a link, a pipe or a device.
package regular

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ErrOther is the error for what is no regular file.
var ErrOther = errors.New("it is not a regular file")

// Open opens a regular file to read. It does not wait for a pipe, and follows no link in the last part of the path.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO) {
		return nil, fmt.Errorf("open %s: %w", path, ErrOther)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("open %s: %w", path, ErrOther)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
