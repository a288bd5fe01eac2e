package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"misstep/agent"
	"misstep/runner/process"
)

// alive is the time between two looks whether a process still runs.
const alive = 50 * time.Millisecond

// RunIn checks the JVM of a process that runs already, until Options.For is over, the context ends or the JVM does. It instruments
// nothing. Afterwards the JVM continues without the agent.
func RunIn(ctx context.Context, o Options, pid int) (*Report, error) {
	of, err := running(pid)
	if err != nil {
		return nil, err
	}
	defer unix.Close(of.fd)
	dir, remove, err := folder(o.Out)
	if err != nil {
		return nil, err
	}
	defer remove()
	r, e, err := o.lightly(dir)
	if err != nil {
		return nil, err
	}
	c, began := startClock(), time.Now()
	attached, err := e.Attach(ctx, r, pid, dir)
	switch {
	case err != nil && of.ended():
		return nil, hasEnded(pid)
	case err != nil:
		return nil, err
	}
	defer attached.Close()
	c.end(PhaseAttach)
	ended := of.await(ctx, o.For)
	c.end(PhaseProgram)
	ctx = context.WithoutCancel(ctx) // what it left is examined, whatever ended it
	if !ended {
		err = attached.Detach(ctx)
		ended = of.ended()
		c.end(PhaseDetach)
	}
	if err != nil && !ended {
		return nil, fmt.Errorf("wait for the end of the agent in JVM %d: %w", pid, err)
	}
	p := program{began: began, folder: of.folder}
	if err := p.collectErrorFile(of.flags, pid, dir); err != nil {
		return nil, err
	}
	found, err := examiner{e, o.Known}.inspect(ctx, dir, ended, time.Since(began))
	if err != nil {
		return nil, err
	}
	c.end(PhaseExamine)
	found.Phases = c.phases
	return found, nil
}

// inspect reports on the JVM that left something in a folder.
func (x examiner) inspect(ctx context.Context, dir string, ended bool, wall time.Duration) (*Report, error) {
	side, about, err := sideOf(dir)
	if err != nil {
		return nil, err
	}
	one, err := x.examine(ctx, side, about, process.Result{ExitCode: -1, Wall: wall})
	if err != nil {
		return nil, err
	}
	if ended {
		one.report.Notes = append(one.report.Notes, fmt.Sprintf("JVM %d ended as it was checked", about.PID))
	}
	return one.report, nil
}

// jvmProcess is a process with a JVM.
type jvmProcess struct {
	fd     int      // a descriptor of it: another process of the same number is not it
	folder string   // its working folder
	flags  []string // the JVM's options
}

func hasEnded(pid int) error {
	return fmt.Errorf("--pid: process %d has ended: nothing was checked", pid)
}

// running finds the JVM of a process, and says why it cannot be attached to.
func running(pid int) (jvmProcess, error) {
	of, err := find(pid)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) { // also of one that its parent has not waited for
		err = hasEnded(pid)
	}
	return of, err
}

func find(pid int) (jvmProcess, error) {
	of := func(name string) string { return filepath.Join("/proc", strconv.Itoa(pid), name) }
	var none jvmProcess
	info, err := os.Stat(of(""))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return none, fmt.Errorf("--pid: there is no process %d: jps lists the JVMs", pid)
	case err != nil:
		return none, fmt.Errorf("--pid: %w", err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return none, fmt.Errorf("--pid: process %d belongs to user %d: a JVM answers its own user only; run misstep as that user, "+
			"as by sudo -u '#%[2]d'", pid, stat.Uid)
	}
	for _, space := range []string{"mnt", "pid"} {
		theirs, err1 := os.Readlink(of("ns/" + space))
		own, erreport := os.Readlink("/proc/self/ns/" + space)
		if err := errors.Join(err1, erreport); err != nil {
			return none, fmt.Errorf("--pid: %w", err)
		}
		if theirs != own {
			return none, fmt.Errorf("--pid: process %d is in a container, or a service with files of its own: run misstep "+
				"inside of it", pid)
		}
	}
	maps, err := os.ReadFile(of("maps"))
	switch {
	case err != nil:
		return none, fmt.Errorf("--pid: %w", err)
	case !bytes.Contains(maps, []byte("/libjvm.so")):
		return none, fmt.Errorf("--pid: process %d has no libjvm.so: it is no JVM of HotSpot; jps lists those", pid)
	case bytes.Contains(maps, []byte("/"+agent.LibraryName)):
		return none, fmt.Errorf("--pid: JVM %d was started with Misstep's agent: misstep outcome shows what it left", pid)
	}
	flags, err := optionsOf(of)
	if err != nil {
		return none, err
	}
	for _, f := range flags {
		if f == "-XX:+DisableAttachMechanism" {
			return none, fmt.Errorf("--pid: JVM %d runs with %s: start it without, or by misstep check", pid, f)
		}
	}
	status, err := os.ReadFile(of("status"))
	if err != nil {
		return none, fmt.Errorf("--pid: %w", err)
	}
	if !catches(string(status), syscall.SIGQUIT) {
		return none, fmt.Errorf("--pid: JVM %d does not handle SIGQUIT, by which it is asked to listen: it runs with -Xrs, or is "+
			"still starting", pid)
	}
	working, err := os.Readlink(of("cwd"))
	if err != nil {
		return none, fmt.Errorf("--pid: %w", err)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return none, fmt.Errorf("--pid: open process %d: %w", pid, err)
	}
	return jvmProcess{fd: fd, folder: working, flags: flags}, nil
}

// optionsOf returns the options of a process's JVM: those of its command line and of the variables that JVMs take options from.
func optionsOf(of func(name string) string) ([]string, error) {
	line, err1 := os.ReadFile(of("cmdline"))
	env, erreport := os.ReadFile(of("environ"))
	if err := errors.Join(err1, erreport); err != nil {
		return nil, fmt.Errorf("--pid: %w", err)
	}
	words := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
	return append(flagsOf(words[1:]), environmentOptions(strings.Split(string(env), "\x00"))...), nil
}

// catches reports whether a process handles a signal, according to its /proc/PID/status.
func catches(status string, s syscall.Signal) bool {
	for line := range strings.Lines(status) {
		if mask, ok := strings.CutPrefix(line, "SigCgt:"); ok {
			set, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
			return err == nil && set&(1<<(s-1)) != 0
		}
	}
	return false
}

// await waits until the time is over, the context ends or the process does, which it reports.
func (p jvmProcess) await(ctx context.Context, most time.Duration) (ended bool) {
	var over <-chan time.Time
	if most > 0 {
		timer := time.NewTimer(most)
		defer timer.Stop()
		over = timer.C
	}
	look := time.NewTicker(alive)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-over:
			return false
		case <-look.C:
			if p.ended() {
				return true
			}
		}
	}
}

// ended reports whether the process has ended, also when nobody has waited for it yet.
func (p jvmProcess) ended() bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, 0) // a descriptor is small
	return err == nil && n > 0
}
