// Package scratch provides each trial with a private folder that is removed afterwards, even if the runner was killed.
//
// A folder's name identifies its owner: "trial-PID-START-RANDOM", with the pid of the runner and its start time in clock ticks
// since boot, which together identify a process for as long as the machine runs. Opening an area removes the folders of dead
// runners and kills the processes of their trials. Do not share an area between machines or pid namespaces.
package scratch

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"misstep/runner/process"
)

// Area is a folder for the folders of trials. It does not change after Open and is safe for concurrent use.
type Area struct {
	path    string
	start   uint64
	cgroups process.Cgroups
}

// Reap reaps what dead runners left in an area, which need not exist.
func Reap(path string, cgroups process.Cgroups) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_, err := Open(path, cgroups)
	return err
}

// Folder of one trial.
type Folder struct {
	// Path of the folder, absolute; its name is unique on the machine.
	Path string
}

// ErrNoSpace is in the chain of errors about a full file system; their text names the folder and the remedy.
var ErrNoSpace = errors.New("no space left")

// Open creates the area if it does not exist (mode 0700) and reaps what dead runners left in it: processes, control groups,
// folders, sockets.
func Open(path string, cgroups process.Cgroups) (*Area, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open trial area: %w", err)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, Explain(path, fmt.Errorf("make trial area: %w", err))
	}
	// /proc/PID/environ has the mark as it was passed: resolve links now.
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return nil, fmt.Errorf("open trial area: %w", err)
	}
	start, ok := process.StartTime(os.Getpid())
	if !ok {
		return nil, errors.New("open trial area: /proc does not show this process; mount it")
	}
	a := &Area{path: path, start: start, cgroups: cgroups}
	return a, a.reap()
}

// New creates the folder of a trial, mode 0700. The caller calls Remove.
func (a *Area) New() (*Folder, error) {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails, see its documentation
	name := fmt.Sprintf("trial-%d-%d-%s", os.Getpid(), a.start, hex.EncodeToString(random[:]))
	path := filepath.Join(a.path, name)
	if err := os.Mkdir(path, 0o700); err != nil {
		return nil, Explain(a.path, fmt.Errorf("make trial folder: %w", err))
	}
	f := &Folder{Path: path}
	if err := f.noteGroups(a.cgroups.Parents()); err != nil {
		return nil, errors.Join(Explain(a.path, fmt.Errorf("make trial folder: %w", err)), f.Remove())
	}
	return f, nil
}

// Remove removes the folder and everything in it.
func (f *Folder) Remove() error { return RemoveAll(f.Path) }

// Size returns the disk usage of the files in the folder in bytes. Files that disappear meanwhile do not count.
func (f *Folder) Size() uint64 {
	var sum uint64
	_ = filepath.WalkDir(f.Path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // what cannot be read is not counted
		}
		if info, err := d.Info(); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				sum += uint64(max(0, st.Blocks)) * 512 // see stat(2): st_blocks counts 512 bytes whatever the block size
			}
		}
		return nil
	})
	return sum
}

// RemoveAll is os.RemoveAll that also removes folders whose permissions a workload has removed. It changes nothing outside of the
// path, whatever links are there, or come there meanwhile.
func RemoveAll(path string) error {
	for range 64 { // each round makes one more level of folders accessible
		if os.RemoveAll(path) == nil {
			return nil
		}
		openUp(path) // if it fails, so does os.RemoveAll
	}
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("remove trial folder: %w", err)
	}
	return nil
}

// openUp lets this user into a folder and those in it, as far as they can be read.
func openUp(path string) {
	parent, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return
	}
	defer parent.Close()
	if info, err := parent.Lstat(filepath.Base(path)); err != nil || !info.IsDir() {
		return
	}
	_ = parent.Chmod(filepath.Base(path), 0o700)
	root, err := parent.OpenRoot(filepath.Base(path))
	if err != nil {
		return
	}
	defer root.Close()
	_ = fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = root.Chmod(p, 0o700) // in the folder, also where a link took its place
		}
		return nil
	})
}

// Explain adds the remedy to errors about a full file system; it returns others unchanged.
func Explain(folder string, err error) error {
	if err == nil || !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	return fmt.Errorf("%w in %s: free some space, or choose a folder on another file system with --dir: %w", ErrNoSpace, folder,
		err)
}

// Free returns the number of bytes that this user may still write to the file system of the folder; false if it is unknown.
func Free(folder string) (uint64, bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(folder, &st); err != nil {
		return 0, false
	}
	return st.Bavail * uint64(max(0, st.Bsize)), true
}
