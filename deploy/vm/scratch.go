package vm

import (
	"fmt"
	"os"

	"misstep/internal/filelock"
)

const scratchPrefix = "misstep-vm-"

// makeScratch creates a machine's folder for temporary files and returns a function that removes it. Folders that a killed process
// left behind are removed as well: they are no longer locked.
func makeScratch() (dir string, remove func(), err error) {
	Sweep()
	dir, unlock, err := filelock.Folder(os.TempDir(), scratchPrefix)
	if err != nil {
		return "", nil, fmt.Errorf("making a scratch folder: %w", err)
	}
	return dir, func() {
		_ = os.RemoveAll(dir)
		unlock()
	}, nil
}

// Sweep removes what machines of killed processes left among the system's temporary files; what it cannot remove does no harm.
func Sweep() { sweep(os.TempDir()) }

func sweep(dir string) { _ = filelock.Sweep(dir, scratchPrefix+"[0-9]*") }
