//go:build linux

// Package filelock waits for locks on files between processes, which the kernel releases when their holder ends.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// poll is how often Wait tries; a call of flock that blocks could not be ended by a context.
const poll = 50 * time.Millisecond

// Wait locks a file for this process alone until unlock is called, which closes the file; so does an error. waiting, unless nil, is
// called once if another process holds the lock.
func Wait(ctx context.Context, file *os.File, waiting func()) (unlock func(), err error) {
	for waited := false; ; waited = true {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return func() { _ = file.Close() }, nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			return nil, errors.Join(fmt.Errorf("lock %s: %w", file.Name(), err), file.Close())
		}
		if !waited && waiting != nil {
			waiting()
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		case <-time.After(poll):
		}
	}
}
