package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"misstep/deploy/vm/wire"
)

// Exit codes of a shell for a command that does not exist, or that cannot be executed.
const (
	codeNotFound      = 127
	codeNotExecutable = 126
)

// runCommand runs the job's command to its end and reaps every child meanwhile, as process 1 must.
func runCommand(job wire.Job, port *port) (wire.Exit, error) {
	path, err := lookPath(job.Command[0], job.Dir, job.Env)
	if err != nil {
		return wire.Exit{Code: codeNotFound}, port.send(wire.KindStderr, fmt.Appendf(nil, "misstep vm: %v\n", err))
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return wire.Exit{}, fmt.Errorf("opening the command's stdin: %w", err)
	}
	defer null.Close()
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return wire.Exit{}, fmt.Errorf("making the command's stdout: %w", err)
	}
	errRead, errWrite, err := os.Pipe()
	if err != nil {
		return wire.Exit{}, fmt.Errorf("making the command's stderr: %w", err)
	}
	boot, err := sinceBoot()
	if err != nil {
		return wire.Exit{}, err
	}
	exit := wire.Exit{BootNanos: boot.Nanoseconds()}
	pid, err := syscall.ForkExec(path, job.Command, &syscall.ProcAttr{
		Dir:   job.Dir,
		Env:   append(append([]string{}, job.Env...), "MISSTEP_EVIDENCE="+evidencePath),
		Files: []uintptr{null.Fd(), outWrite.Fd(), errWrite.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: uint32(job.UID), Gid: uint32(job.GID)}},
	})
	_, _ = outWrite.Close(), errWrite.Close()
	if err != nil {
		exit.Code = codeNotExecutable
		return exit, port.send(wire.KindStderr, fmt.Appendf(nil, "misstep vm: %s as user %d in %s: %v\n", path, job.UID, job.Dir,
			err))
	}
	var copies sync.WaitGroup
	copies.Go(func() { forward(port, wire.KindStdout, outRead) })
	copies.Go(func() { forward(port, wire.KindStderr, errRead) })

	var timedOut atomic.Bool
	if job.LimitNanos > 0 {
		limit := time.AfterFunc(time.Duration(job.LimitNanos), func() {
			timedOut.Store(true)
			killAll()
		})
		defer limit.Stop()
	}
	status, err := reap(pid)
	if err != nil {
		return exit, err
	}
	// Kill what the command left running: it would keep the pipes open.
	killAll()
	copies.Wait()
	end, err := sinceBoot()
	if err != nil {
		return exit, err
	}
	exit.RunNanos, exit.TimedOut = (end - boot).Nanoseconds(), timedOut.Load()
	if exit.Code = status.ExitStatus(); status.Signaled() {
		exit.Signal = int(status.Signal())
		exit.Code = 128 + exit.Signal
	}
	return exit, nil
}

// reap waits for children, own and inherited, until the one with the given pid has ended.
func reap(pid int) (unix.WaitStatus, error) {
	for {
		var status unix.WaitStatus
		got, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, fmt.Errorf("waiting for the command: %w", err)
		case got == pid && (status.Exited() || status.Signaled()):
			return status, nil
		}
	}
}

func killAll() {
	// For process 1, -1 means every other process. ESRCH: all have ended.
	_ = unix.Kill(-1, unix.SIGKILL)
}

func forward(port *port, kind wire.Kind, from io.Reader) {
	buf := make([]byte, wire.MaxPayload)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if err := port.send(kind, buf[:n]); err != nil {
				fmt.Fprintln(os.Stderr, "guest:", err)
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// lookPath finds the command as a shell would with the job's PATH.
func lookPath(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		if _, err := os.Stat(name); err != nil {
			return "", fmt.Errorf("%s is not in the guest: %w", name, err)
		}
		return name, nil
	}
	search := ""
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, "PATH="); ok {
			search = value
		}
	}
	for _, dir := range filepath.SplitList(search) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not in the guest's PATH %s", name, search)
}

func sinceBoot() (time.Duration, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0, fmt.Errorf("reading the clock: %w", err)
	}
	return time.Duration(now.Nano()), nil
}
