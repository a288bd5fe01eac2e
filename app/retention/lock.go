package retention

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// lockPoll is how often Lock tries.
const lockPoll = 100 * time.Millisecond

// Lock keeps rounds that remove, and backups, of a coordinator's folder from running at the same time: what a backup has read must
// not be removed before it is copied. It waits; the kernel releases the lock when the process ends.
func Lock(ctx context.Context, dir string) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(dir, "retention.lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return func() { _ = file.Close() }, nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), file.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		case <-time.After(lockPoll):
		}
	}
}
