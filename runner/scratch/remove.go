package scratch

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// RemoveAll is os.RemoveAll for folders that a program of others filled. It also removes folders whose permissions the program took
// away, and paths that are longer than PATH_MAX. It changes nothing outside of the path, even if links are there or come there
// meanwhile. It takes a time that is linear in the number of files, and three descriptors, however deep the folders are.
func RemoveAll(path string) error { return removeBefore(path, time.Time{}) }

// removeBefore is RemoveAll that gives up at a deadline with os.ErrDeadlineExceeded; the zero time is none.
func removeBefore(path string, deadline time.Time) error {
	r := remover{deadline: deadline, prefix: movedUp + rand.Text() + "-"}
	if err := r.remove(filepath.Clean(path)); err != nil {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	return nil
}

// movedUp begins the names of folders that a removal has moved up. They are there while it continues, and when it was interrupted.
const movedUp = "removing-"

// MovedUp reports whether a folder with that name, in a folder that is being removed, is there by RemoveAll.
func MovedUp(name string) bool { return strings.HasPrefix(name, movedUp) }

// remover empties a folder, the top. It moves the folders in each folder of the top up to the top, so that no path has more than
// two names below it.
type remover struct {
	deadline time.Time
	prefix   string
	moved    int // folders that were moved to the top
}

func (r *remover) remove(path string) error {
	parent, err := os.OpenFile(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer parent.Close()
	name := filepath.Base(path)
	if err := unlink(parent, name); !errors.Is(err, unix.ENOTEMPTY) {
		return err
	}
	top, err := enter(parent, name)
	if err != nil {
		return unlessGone(err)
	}
	defer top.Close()
	if err := r.empty(top, func(name string) error { return r.removeFolder(top, name) }); err != nil {
		return err
	}
	return unlink(parent, name)
}

// removeFolder removes a folder of the top.
func (r *remover) removeFolder(top *os.File, name string) error {
	folder, err := enter(top, name)
	if err != nil {
		return unlessGone(err)
	}
	defer folder.Close()
	if err := r.empty(folder, func(name string) error { return r.moveUp(folder, name, top) }); err != nil {
		return err
	}
	return unlink(top, name)
}

// moveUp moves a folder to the top.
func (r *remover) moveUp(from *os.File, name string, top *os.File) error {
	r.moved++
	to := r.prefix + strconv.Itoa(r.moved)
	err := unix.Renameat(int(from.Fd()), name, int(top.Fd()), to)
	if errors.Is(err, unix.EACCES) { // it takes the right to write to the folder that is moved
		if folder, opened := enter(from, name); opened == nil {
			_ = folder.Close()
			err = unix.Renameat(int(from.Fd()), name, int(top.Fd()), to)
		}
	}
	return unlessGone(err)
}

// unlessGone returns nil for the error of what is gone: another process may remove the same.
func unlessGone(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// batch is the number of names that are read of a folder at a time.
const batch = 1024

// empty removes what is in a folder: files and empty folders itself, others by a function, which may put something else there.
func (r *remover) empty(folder *os.File, remove func(name string) error) error {
	for {
		if _, err := folder.Seek(0, io.SeekStart); err != nil {
			return err
		}
		names, err := folder.Readdirnames(batch)
		if errors.Is(err, io.EOF) || errors.Is(err, os.ErrNotExist) { // a folder that is gone has no names either
			return nil
		}
		if err != nil {
			return err
		}
		var failed error
		failures := 0
		for _, name := range names {
			if !r.deadline.IsZero() && time.Now().After(r.deadline) {
				return os.ErrDeadlineExceeded
			}
			err := unlink(folder, name)
			if errors.Is(err, unix.ENOTEMPTY) {
				err = remove(name)
			}
			if err != nil {
				failed, failures = err, failures+1
			}
		}
		if failures == len(names) {
			return failed
		}
	}
}

// unlink removes a file or an empty folder; one that is gone is no error. The error of a folder that is not empty is ENOTEMPTY.
func unlink(folder *os.File, name string) error {
	err := unix.Unlinkat(int(folder.Fd()), name, 0)
	if errors.Is(err, unix.EISDIR) {
		err = unix.Unlinkat(int(folder.Fd()), name, unix.AT_REMOVEDIR)
	}
	if errors.Is(err, unix.EEXIST) { // POSIX allows both
		return unix.ENOTEMPTY
	}
	return unlessGone(err)
}

// enter opens a folder to read it and to change what is in it.
func enter(parent *os.File, name string) (*os.File, error) {
	const flags = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(int(parent.Fd()), name, flags|unix.O_RDONLY, 0)
	if errors.Is(err, unix.EACCES) {
		allow(parent, name)
		fd, err = unix.Openat(int(parent.Fd()), name, flags|unix.O_RDONLY, 0)
	}
	if err != nil {
		return nil, err
	}
	_ = unix.Fchmod(fd, 0o700) // where it is refused, the next call is, too
	return os.NewFile(uintptr(fd), name), nil
}

// allow lets this user into a folder that it may not open. It follows no link: /proc names what the descriptor has.
func allow(parent *os.File, name string) {
	fd, err := unix.Openat(int(parent.Fd()), name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	_ = unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), 0o700)
}
