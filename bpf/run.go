package bpf

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"misstep/schedule"
)

var errTimeout = errors.New("timeout")

// killGrace is how long Run waits for a tree to exit after SIGKILL: a delayed thread exits only once it is released.
const killGrace = 15 * time.Second

// Result is the result of one command under a scheduler.
type Result struct {
	// State is the command's; nil if it did not end within killGrace after it was killed.
	State *os.ProcessState
	// TimedOut means that the context's cause is a deadline.
	TimedOut bool
	// Report is the scheduler's.
	Report *schedule.Report
}

// Code returns the exit code for the result: 123 after an ejection, 124 after a timeout, else the command's own or 128 plus the
// number of the signal that ended it.
func (r *Result) Code() int {
	switch {
	case r.Report.Ejection != nil:
		return CodeEjected
	case r.TimedOut || r.State == nil:
		return CodeTimeout
	}
	if status, ok := r.State.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return r.State.ExitCode()
}

// NotStartedError means that the command could not be started.
type NotStartedError struct{ Err error }

func (e *NotStartedError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *NotStartedError) Unwrap() error { return e.Err }

// Run runs cmd and its descendants under a scheduler of its own, until cmd ends. When the context ends, the command's process
// group is killed. When the kernel ejects the scheduler, the command is killed, too, since it would no longer be perturbed; the
// result then has an ejection. Processes of the tree that are still alive at the end continue under the kernel's own scheduler.
func Run(ctx context.Context, o Options, cmd *exec.Cmd) (*Result, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	s, err := Attach(o)
	if err != nil {
		return nil, err
	}
	if err := s.Start(cmd); err != nil {
		_, detach := s.Detach()
		if !errors.Is(err, ErrPlaces) {
			err = &NotStartedError{err}
		}
		return nil, errors.Join(err, detach)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	result := &Result{}
	var waited error
	select {
	case waited = <-done:
	case <-ctx.Done():
		result.TimedOut = errors.Is(context.Cause(ctx), errTimeout) || errors.Is(ctx.Err(), context.DeadlineExceeded)
		waited = kill(cmd, done)
	case <-s.Ended():
		waited = kill(cmd, done)
	}
	result.State = cmd.ProcessState
	result.Report, err = s.Detach()
	if o.Log != nil {
		err = errors.Join(err, o.Log.Close(result.Report.Lost))
	}
	var exit *exec.ExitError
	if waited != nil && !errors.As(waited, &exit) {
		err = errors.Join(err, fmt.Errorf("run %s: %w", cmd.Path, waited))
	}
	if err != nil {
		return nil, err
	}
	return result, nil
}

func kill(cmd *exec.Cmd, done <-chan error) error {
	_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
	select {
	case err := <-done:
		return err
	case <-time.After(killGrace):
		return fmt.Errorf("process %d did not exit within %v of SIGKILL", cmd.Process.Pid, killGrace)
	}
}

// credentialOf returns the credential of the user as whom a command runs: the one named, else the caller of sudo, else nil for the
// user of this process. env has that user's environment variables; under sudo they are root's.
func credentialOf(name string) (c *syscall.Credential, env []string, err error) {
	if name == "" && os.Geteuid() == 0 {
		name = os.Getenv("SUDO_USER")
	}
	if name == "" {
		return nil, nil, nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		if u, err = user.LookupId(name); err != nil {
			return nil, nil, fmt.Errorf("run as %s: no such user", name)
		}
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(err1, err2); err != nil {
		return nil, nil, fmt.Errorf("run as %s: %w", name, err)
	}
	if int(uid) == os.Geteuid() {
		return nil, nil, nil
	}
	c = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	if groups, err := u.GroupIds(); err == nil {
		for _, g := range groups {
			if id, err := strconv.ParseUint(g, 10, 32); err == nil {
				c.Groups = append(c.Groups, uint32(id))
			}
		}
	}
	return c, []string{"HOME=" + u.HomeDir, "USER=" + u.Username, "LOGNAME=" + u.Username}, nil
}

func terminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
