package scratch

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// removePatience bounds the removal of a trial's folder, which takes milliseconds unless the program filled it on purpose;
	// reapPatience that of all folders of dead runners, for which a runner's start waits.
	removePatience = 4 * time.Second
	reapPatience   = 2 * time.Second
	// asidePatience bounds the removal of one folder that was moved aside, for which nothing waits.
	asidePatience = 10 * time.Minute
	// asideName is the folder in an area to which folders are moved that cannot be removed at once.
	asideName = "aside"
)

// remove removes a folder of the area, or moves it aside if that takes longer than until a deadline or fails.
func (a *Area) remove(path string, deadline time.Time) error {
	err := removeBefore(path, deadline)
	if err == nil {
		return nil
	}
	aside := filepath.Join(a.path, asideName)
	made := os.Mkdir(aside, 0o700)
	if errors.Is(made, os.ErrExist) {
		made = nil
	}
	to := filepath.Join(aside, filepath.Base(path))
	if moved := errors.Join(made, os.Rename(path, to)); moved != nil {
		return fmt.Errorf("%w; and it cannot be moved aside: %w", err, moved)
	}
	a.logger.Warn("a trial's folder is not removed yet: it was moved aside, where it takes space until it is",
		slog.String("folder", to), slog.Any("error", err))
	a.removeAside()
	return nil
}

// removeAside removes in the background what was moved aside, by an earlier runner, too. A folder that cannot be removed stays, and
// the logger is told.
func (a *Area) removeAside() {
	aside := filepath.Join(a.path, asideName)
	if _, err := os.Lstat(aside); err != nil || !a.aside.TryLock() {
		return // nothing there, or it is being removed
	}
	go func() {
		defer a.aside.Unlock()
		for {
			entries, err := os.ReadDir(aside)
			for _, e := range entries {
				err = errors.Join(err, removeBefore(filepath.Join(aside, e.Name()), time.Now().Add(asidePatience)))
			}
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				a.logger.Warn("what was moved aside cannot be removed: remove it yourself, it takes space",
					slog.String("folder", aside), slog.Any("error", err))
				return
			}
			if !errors.Is(os.Remove(aside), unix.ENOTEMPTY) { // else more was moved there
				return
			}
		}
	}()
}
