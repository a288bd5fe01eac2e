package scratch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"misstep/internal/regular"
	"misstep/runner/process"
)

// Notes in a trial's folder for whoever reaps it. The JVM's user may write there, so they are believed only as far as they can do
// no harm.
const (
	// groupsFile lists the folders in which the trial's control groups were made, a line each: a runner that was started elsewhere,
	// as by another systemd unit, makes them in another one.
	groupsFile = "cgroups"
	// attachedFile has the pid of a JVM that was attached to.
	attachedFile = "attached"
)

var folderName = regexp.MustCompile(`^trial-(\d+)-(\d+)-[0-9a-f]{16}$`)

// stale reports whether a name is that of a trial whose runner is dead.
func stale(name string) bool {
	parts := folderName.FindStringSubmatch(name)
	if parts == nil {
		return false
	}
	pid, err1 := strconv.Atoi(parts[1])
	start, err2 := strconv.ParseUint(parts[2], 10, 64)
	if err1 != nil || err2 != nil {
		return false
	}
	now, alive := process.StartTime(pid)
	return !alive || now != start
}

// reap removes what dead runners left, processes first: a folder with living processes would be filled again.
func (a *Area) reap() error {
	entries, err := os.ReadDir(a.path)
	if err != nil {
		return fmt.Errorf("reap stale trials: %w", err)
	}
	var errs []error
	deadline := time.Now().Add(reapPatience)
	for _, parent := range a.cgroups.Parents() {
		errs = append(errs, process.ReapCgroups(parent, stale))
	}
	for _, e := range entries {
		if !stale(e.Name()) {
			continue
		}
		path := filepath.Join(a.path, e.Name())
		for _, parent := range readGroups(path) {
			errs = append(errs, process.ReapCgroups(parent, func(name string) bool { return name == e.Name() }))
		}
		errs = append(errs, process.KillMarked(path, ownerOf(path)))
		removeSocket(path)
		errs = append(errs, a.remove(path, deadline))
	}
	a.removeAside()
	return errors.Join(errs...)
}

// ownerOf returns the user to whom a folder belongs: the one that its trial's processes have; 0 if it cannot be read.
func ownerOf(folder string) uint32 {
	var st syscall.Stat_t
	if syscall.Lstat(folder, &st) != nil {
		return 0
	}
	return st.Uid
}

// noteGroups notes where the trial's control groups are made.
func (f *Folder) noteGroups(parents []string) error {
	if len(parents) == 0 {
		return nil
	}
	return f.note(groupsFile, strings.Join(parents, "\n")+"\n")
}

// note writes a note anew. It follows no link that the JVM's user has put there.
func (f *Folder) note(name, text string) error {
	root, err := os.OpenRoot(f.Path)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := removeBefore(filepath.Join(f.Path, name), time.Now().Add(removePatience)); err != nil {
		return err
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// maxNote bounds what is read of a note.
const maxNote = 64 << 10

// readNote returns the text of a note; empty if there is none.
func readNote(folder, name string) string {
	file, err := regular.Open(filepath.Join(folder, name))
	if err != nil {
		return ""
	}
	defer file.Close()
	text, _ := io.ReadAll(io.LimitReader(file, maxNote))
	return string(text)
}

// readGroups returns the noted folders that are control groups.
func readGroups(folder string) []string {
	return slices.DeleteFunc(strings.Split(strings.TrimSpace(readNote(folder, groupsFile)), "\n"), func(parent string) bool {
		return !process.IsCgroup(parent)
	})
}

// Attaching notes that a JVM is going to be attached to: it then makes a socket outside of the folder, which a killed JVM leaves.
func (f *Folder) Attaching(pid int) error {
	if err := f.note(attachedFile, strconv.Itoa(pid)); err != nil {
		return fmt.Errorf("note the JVM to attach to: %w", err)
	}
	return nil
}

// Socket is where a JVM listens for those that attach to it, whatever its TMPDIR is.
func Socket(pid int) string { return "/tmp/.java_pid" + strconv.Itoa(pid) }

// removeSocket removes the socket of a trial's dead JVM. The JVM's user may have written the note: it can name a socket of that
// form and nothing else.
func removeSocket(folder string) {
	pid, err := strconv.Atoi(readNote(folder, attachedFile))
	if err != nil || pid < 1 {
		return
	}
	if _, alive := process.StartTime(pid); alive {
		return // of another process by now
	}
	if info, err := os.Lstat(Socket(pid)); err == nil && info.Mode().Type() == fs.ModeSocket {
		_ = os.Remove(Socket(pid))
	}
}
