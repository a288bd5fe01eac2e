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
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"misstep/runner/process"
)

// Area is a folder for the folders of trials. It is safe for concurrent use.
type Area struct {
	path    string
	start   uint64
	cgroups process.Cgroups
	logger  *slog.Logger
	aside   sync.Mutex // held while what was moved aside is removed
}

// Reap reaps what dead runners left in an area, which need not exist.
func Reap(path string, cgroups process.Cgroups, logger *slog.Logger) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_, err := Open(path, cgroups, logger)
	return err
}

// Folder of one trial.
type Folder struct {
	// Path of the folder, absolute; its name is unique on the machine.
	Path string
	area *Area
}

// ErrNoSpace is in the chain of errors about a full file system; their text names the folder and the remedy.
var ErrNoSpace = errors.New("no space left")

// Open creates the area if it does not exist (mode 0700) and reaps what dead runners left in it: processes, control groups,
// folders, sockets. The logger, which may be nil, is told what cannot be removed, which is no error.
func Open(path string, cgroups process.Cgroups, logger *slog.Logger) (*Area, error) {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
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
	a := &Area{path: path, start: start, cgroups: cgroups, logger: logger}
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
	f := &Folder{Path: path, area: a}
	if err := f.noteGroups(a.cgroups.Parents()); err != nil {
		return nil, errors.Join(Explain(a.path, fmt.Errorf("make trial folder: %w", err)), f.Remove())
	}
	return f, nil
}

// Remove removes the folder and everything in it. What cannot be removed within some seconds is moved aside and removed later, and
// the area's logger told, so that no trial waits for it.
func (f *Folder) Remove() error { return f.area.remove(f.Path, time.Now().Add(removePatience)) }

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
