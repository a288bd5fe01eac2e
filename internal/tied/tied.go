// Package tied starts programs that do not outlive this one.
package tied

import (
	"errors"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Start starts the command like its own Start, and the kernel kills the program when this process ends, however it ends.
// PR_SET_PDEATHSIG fires when the thread that forked ends (prctl(2), golang.org/issue/27505), and Go ends a thread with a goroutine
// that stays locked to it; so the command is started on a thread that is kept until the program has ended.
func Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		AwaitEnd(cmd.Process.Pid)
	}()
	return <-started
}

// AwaitEnd waits until a child of this process has ended, without reaping it: that is for who started it, and until then no other
// process has its number. It returns at once when it has been reaped.
func AwaitEnd(pid int) {
	for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
}
