package tree

import (
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const workPattern = ".fetch-*"

// workFolder makes a folder in dir that is locked while its maker lives, by which sweep distinguishes dead from living makers.
func workFolder(dir string) (name string, unlock func(), err error) {
	for {
		name, err := os.MkdirTemp(dir, workPattern)
		if err != nil {
			return "", nil, err
		}
		folder, err := os.Open(name)
		if os.IsNotExist(err) {
			continue // swept before it was locked
		}
		if err != nil {
			return "", nil, err
		}
		if err := unix.Flock(int(folder.Fd()), unix.LOCK_EX); err != nil {
			_ = folder.Close()
			return "", nil, err
		}
		if _, err := os.Lstat(name); err == nil {
			return name, func() { _ = folder.Close() }, nil
		}
		_ = folder.Close()
	}
}

// Sweep removes what killed fetches left in the folder of a cache; it is done before each fetch, too.
func Sweep(cache string) { sweep(cache) }

// sweep removes what killed fetches left in dir. What it cannot remove does no harm.
func sweep(dir string) {
	left, _ := fs.Glob(os.DirFS(dir), workPattern) // not filepath.Glob: dir may have a "[" in its name
	for _, base := range left {
		name := filepath.Join(dir, base)
		folder, err := os.Open(name)
		if err != nil {
			continue
		}
		if unix.Flock(int(folder.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = os.RemoveAll(name)
		}
		_ = folder.Close()
	}
}
