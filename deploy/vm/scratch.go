package vm

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const scratchPrefix = "misstep-vm-"

// makeScratch creates a machine's folder for temporary files and returns a function that removes it. Folders that a killed process
// left behind are removed as well: they are no longer locked.
func makeScratch() (dir string, remove func(), err error) {
	Sweep()
	if dir, err = os.MkdirTemp("", scratchPrefix); err != nil {
		return "", nil, fmt.Errorf("making a scratch folder: %w", err)
	}
	lock, err := os.Open(dir)
	if err == nil {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return "", nil, fmt.Errorf("locking the scratch folder: %w", err)
	}
	return dir, func() {
		_ = os.RemoveAll(dir)
		_ = lock.Close()
	}, nil
}

// Sweep removes what machines of killed processes left among the system's temporary files.
func Sweep() { sweep(os.TempDir()) }

// sweep removes the scratch folders in dir that no process has locked. A folder is empty between its creation and its locking, so
// empty ones are left to their creators.
func sweep(dir string) {
	found, err := filepath.Glob(filepath.Join(dir, scratchPrefix+"[0-9]*"))
	if err != nil {
		return
	}
	for _, path := range found {
		entries, err := os.ReadDir(path)
		if err != nil || len(entries) == 0 {
			continue
		}
		folder, err := os.Open(path)
		if err != nil {
			continue
		}
		if unix.Flock(int(folder.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = os.RemoveAll(path)
		}
		_ = folder.Close()
	}
}
