package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"misstep/internal/tied"
)

// Needs of a program, beyond the system's programs and libraries.
type Needs struct {
	// Write lists folders of its own; Temp is the one that TMPDIR names. Read lists files and folders that it reads.
	Write, Read []string
	// Network is the host's; else it has a loopback interface of its own.
	Network bool
	// Override lets it read files that its user may not, among those that it needs: data that this process was asked to read. It
	// sees neither /sys nor more of /etc than what everybody may read and JDKs need.
	Override bool
	// Perf allows perf_event_open, as far as /proc/sys/kernel/perf_event_paranoid does.
	Perf bool
}

// Box confines one program, and others that are to work on the same files, such as one that reads what it left. Nil confines
// nothing. Safe for concurrent use.
type Box struct {
	sandbox *Sandbox
	user    *syscall.Credential
	needs   Needs
}

// Box makes the box of a program with the given needs. A nil sandbox gives a nil box.
func (s *Sandbox) Box(n Needs) *Box {
	if s == nil {
		return nil
	}
	b := &Box{sandbox: s, user: s.user, needs: n}
	if s.own {
		b.user = ownUser()
	}
	b.needs.Read = append(absolute(s.read), absolute(n.Read)...)
	b.needs.Write = absolute(n.Write)
	return b
}

// absolute makes paths absolute, and leaves out empty ones.
func absolute(paths []string) (all []string) {
	for _, path := range paths {
		if path == "" {
			continue
		}
		if abs, err := filepath.Abs(path); err == nil {
			path = abs
		}
		all = append(all, path)
	}
	return all
}

// Java returns the folders that a java command needs: its JDK, also that of the file which the command is a link to.
func Java(command string) []string {
	all := []string{home(command)}
	if target, err := filepath.EvalSymlinks(command); err == nil && home(target) != all[0] {
		all = append(all, home(target))
	}
	return all
}

// home is the folder of the JDK of a command: what bin is in, else the command's own folder.
func home(command string) string {
	if dir := filepath.Dir(command); filepath.Base(dir) != "bin" {
		return dir
	}
	return filepath.Dir(filepath.Dir(command))
}

// User is the user that the program runs as; nil for this process's own.
func (b *Box) User() *syscall.Credential {
	if b == nil {
		return nil
	}
	return b.user
}

// UID is the number of that user.
func (b *Box) UID() int {
	if u := b.User(); u != nil {
		return int(u.Uid)
	}
	return os.Geteuid()
}

// Own gives files to the program's user.
func (b *Box) Own(paths ...string) error {
	u := b.User()
	if u == nil {
		return nil
	}
	for _, path := range paths {
		if err := os.Lchown(path, int(u.Uid), int(u.Gid)); err != nil {
			return fmt.Errorf("give %s to user %d: %w", path, u.Uid, err)
		}
	}
	return nil
}

// JoinsLater reports whether the program cannot be created in a control group: the system call for that, clone3, cannot be
// filtered by its arguments and is refused to programs, hence on the thread that starts them.
func (b *Box) JoinsLater() bool { return b != nil && b.sandbox.filter }

// Start starts the command in the box, on a thread that lives as long as the program does: so SysProcAttr.Pdeathsig ends the
// program with this process only. start is called on that thread; nil means the command's own Start.
func (b *Box) Start(cmd *exec.Cmd, start func(*exec.Cmd) error) error {
	if start == nil {
		start = (*exec.Cmd).Start
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if err := b.checkReadable(); err != nil {
		return err
	}
	if path, err := filepath.Abs(cmd.Path); err == nil {
		cmd.Path = path // the thread's folder is another
	}
	cmd.SysProcAttr.Credential = b.User()
	if b.User() != nil && b.needs.Override {
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_DAC_READ_SEARCH}
	}
	started := make(chan error, 1)
	spawn(func() {
		err := b.confine()
		if err == nil {
			err = b.explain(start(cmd))
		}
		pid := 0
		if err == nil {
			pid = cmd.Process.Pid
		}
		started <- err
		if pid != 0 {
			tied.AwaitEnd(pid)
		}
	})
	return <-started
}

// As calls a function as the program's user, on a thread of its own: for what a root without all capabilities may not do to the
// processes of others.
func (b *Box) As(work func() error) error {
	u := b.User()
	if u == nil {
		return work()
	}
	return onThread(func() error {
		// The raw calls change this thread only (setresuid(2), C library/kernel differences).
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, uintptr(u.Gid), uintptr(u.Gid), uintptr(u.Gid)); errno != 0 {
			return fmt.Errorf("become group %d: %w", u.Gid, errno)
		}
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(u.Uid), uintptr(u.Uid), uintptr(u.Uid)); errno != 0 {
			return fmt.Errorf("become user %d: %w", u.Uid, errno)
		}
		return work()
	})
}

// checkReadable returns an error with the remedy if the program's user may not read what it needs: the files and folders
// themselves, not what is in them. With mount namespaces, the folders above do not count.
func (b *Box) checkReadable() error {
	u := b.User()
	if u == nil || b.needs.Override {
		return nil
	}
	for _, path := range b.needs.Read {
		info, err := os.Stat(path)
		if err != nil {
			continue // who needs it says so
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		need, mode := fs.FileMode(0o4), info.Mode().Perm()
		if info.IsDir() {
			need = 0o5
		}
		switch {
		case !ok:
		case st.Uid == u.Uid:
			need <<= 6
		case st.Gid == u.Gid:
			need <<= 3
		}
		if mode&need != need {
			return fmt.Errorf("read %s: %w: programs of others run as an ordinary user, here %d, who may not: chmod -R o+rX %s, "+
				"or name a user with --jvm-user who may", path, os.ErrPermission, u.Uid, path)
		}
	}
	return nil
}

// explain adds the remedy to an error of a user who may not start the program.
func (b *Box) explain(err error) error {
	if u := b.User(); u != nil && errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("%w: programs of others run as an ordinary user, here %d: give that user read access to JDK, workload "+
			"and agent, and without mount namespaces to the folders above them, or name another with --jvm-user", err, u.Uid)
	}
	return err
}

// confine confines the calling thread, for good.
func (b *Box) confine() error {
	if b == nil {
		return nil
	}
	if b.sandbox.spaces {
		if err := b.enterSpaces(); err != nil {
			return fmt.Errorf("sandbox: %w", err)
		}
	}
	if b.sandbox.spaces || b.sandbox.landlock > 0 || b.sandbox.filter {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("sandbox: no new privileges: %w", err)
		}
	}
	if b.sandbox.landlock > 0 {
		if err := b.restrict(); err != nil {
			return fmt.Errorf("sandbox: Landlock: %w", err)
		}
	}
	if b.sandbox.filter {
		if err := install(b.needs.Perf); err != nil {
			return fmt.Errorf("sandbox: seccomp: %w", err)
		}
	}
	return nil
}

// spawn runs a function on a new thread, which ends with it: never on the main one, whose namespaces /proc/self shows as those of
// the whole process, and which Go's runtime cannot end.
func spawn(work func()) {
	go func() {
		runtime.LockOSThread() // for good: the thread ends with this goroutine
		if unix.Gettid() != os.Getpid() {
			work()
			return
		}
		defer runtime.UnlockOSThread()
		moved := make(chan struct{})
		go func() { // it cannot be given this thread
			runtime.LockOSThread()
			close(moved)
			work()
		}()
		<-moved
	}()
}

// onThread is spawn for a function that returns an error, which it waits for.
func onThread(work func() error) error {
	result := make(chan error, 1)
	spawn(func() { result <- work() })
	return <-result
}
