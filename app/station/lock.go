package station

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"misstep/coordinator/store/stores"
)

// Lock keeps two hunts, and a hunt and a coordinator, out of one folder, without waiting. The kernel releases the lock when the
// process ends.
func Lock(dir string) (unlock func(), err error) {
	alone, err := lockFile(dir, filepath.Join(dir, "lock"), "another hunt is running there; wait for it or choose another --dir")
	if err != nil {
		return nil, err
	}
	served, err := lockStore(dir)
	if err != nil {
		alone()
		return nil, err
	}
	return func() { served(); alone() }, nil
}

// lockStore keeps a second coordinator from the database file that a URL names. Each would keep its runners' progress and its
// comparison of owners to itself, and extend leases that the other one lets expire. Other stores may be shared, or are of one
// process.
func lockStore(url string) (unlock func(), err error) {
	file := stores.Database(url)
	if file == "" {
		return func() {}, nil
	}
	return lockFile(filepath.Dir(file), file+".lock", "another coordinator serves the store "+file+
		": stop it first, or give this one another --dir; only a PostgreSQL database (--store) is for several coordinators")
}

func lockFile(dir, file, taken string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make folder %s: %w", dir, err)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w; --dir must be a folder that can be written", dir, err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = errors.New(taken)
		}
		return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), f.Close())
	}
	return func() { _ = f.Close() }, nil
}
