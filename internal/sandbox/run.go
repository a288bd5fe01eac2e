package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"misstep/internal/tied"
)

// sweepPatience bounds the wait for what a program left to be gone.
const sweepPatience = 5 * time.Second

// Run runs the command in the box, in a session of its own, and waits for it and for the end of what it left. It does not outlive
// this process.
func (b *Box) Run(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Pdeathsig = true, syscall.SIGKILL
	if err := b.Start(cmd, nil); err != nil {
		return err
	}
	return b.Wait(cmd)
}

// Wait waits for a command that was started in the box in a session of its own, and kills what it left: its process group and,
// wherever they are, the processes of its user, if that is the box's own. They may hold the command's pipes, so they end before
// these are waited for.
func (b *Box) Wait(cmd *exec.Cmd) error {
	pid := cmd.Process.Pid
	tied.AwaitEnd(pid)                // while it is not reaped, its number is no other group's
	_ = unix.Kill(-pid, unix.SIGKILL) // there may be none
	swept := b.sweep()
	return errors.Join(cmd.Wait(), swept)
}

// sweep kills the processes of the box's own user until there are none.
func (b *Box) sweep() error {
	u := b.User()
	if u == nil || !IsOwn(u.Uid) {
		return nil
	}
	for began := time.Now(); time.Since(began) < sweepPatience; time.Sleep(time.Millisecond) {
		entries, err := os.ReadDir("/proc")
		if err != nil {
			return err
		}
		left := 0
		for _, e := range entries {
			pid, err := strconv.Atoi(e.Name())
			if err != nil {
				continue
			}
			if uid, alive, ok := UserOf(pid); ok && alive && uid == u.Uid {
				left++
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
		if left == 0 {
			return nil
		}
	}
	return fmt.Errorf("processes of user %d survive SIGKILL; look for tasks in state D, e.g. with ps", u.Uid)
}

// UserOf returns the real user of a process, and whether it is more than what its parent has not waited for. The owner of its
// folder in /proc would be root for a process that has made itself undumpable (proc(5)).
func UserOf(pid int) (uid uint32, alive, ok bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false, false
	}
	for line := range strings.Lines(string(data)) {
		if state, is := strings.CutPrefix(line, "State:\t"); is {
			alive = state[0] != 'Z' && state[0] != 'X'
		}
		if users, is := strings.CutPrefix(line, "Uid:"); is {
			_, err := fmt.Sscan(users, &uid)
			return uid, alive, err == nil
		}
	}
	return 0, false, false
}
