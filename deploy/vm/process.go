package vm

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// firstExtraFD is the number by which a process knows the first of its launch's files.
const firstExtraFD = 3

// launch says how to start a helper process: qemu or virtiofsd.
type launch struct {
	path   string
	args   []string
	env    []string // NAME=VALUE, beside this process's own
	dir    string
	output io.Writer
	files  []*os.File
	pin    bool
	cpu    int          // with pin: the host CPU; negative: one of those allowed
	before func() error // run in the thread that forks, nil for none; may change what a thread has of its own, as its mounts
}

// process is a helper process in a group of its own. It dies with this program, however that ends: the kernel kills it when the thread that
// forked it is gone (PR_SET_PDEATHSIG), so that thread is kept for it alone.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // valid after done
}

// start starts a process from a thread of its own.
func start(l launch) (*process, error) {
	cmd := exec.Command(l.path, l.args...)
	cmd.Env = append(os.Environ(), l.env...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = l.dir, l.output, l.output, l.files
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = 5 * time.Second
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// Never unlocked: the thread, changed as it is, ends with this goroutine.
		runtime.LockOSThread()
		if err := p.begin(l); err != nil {
			started <- err
			return
		}
		started <- nil
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, <-started
}

func (p *process) begin(l launch) error {
	if l.pin {
		if err := pinThread(l.cpu); err != nil {
			return err
		}
	}
	if l.before != nil {
		if err := l.before(); err != nil {
			return err
		}
	}
	return p.cmd.Start()
}

// kill kills the whole group.
func (p *process) kill() { _ = unix.Kill(-p.cmd.Process.Pid, unix.SIGKILL) }

// wait waits for the process and returns how it ended.
func (p *process) wait() error {
	<-p.done
	return p.err
}

// ended says whether the process has ended.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// stop ends the process in any case and returns when it is gone.
func (p *process) stop() {
	if !p.ended() {
		p.kill()
		<-p.done
	}
}

// turn spreads the machines of one process over the CPUs.
var turn atomic.Uint32

// pinThread binds the calling thread, and what it forks, to one CPU. Unpinned, qemu's threads overlap in time, and the order in which they
// take its big lock leaks into the guest.
func pinThread(cpu int) error {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return fmt.Errorf("asking for the CPUs: %w", err)
	}
	if cpu < 0 {
		nth := (os.Getpid() + int(turn.Add(1))) % allowed.Count()
		for cpu = 0; ; cpu++ {
			if !allowed.IsSet(cpu) {
				continue
			}
			if nth == 0 {
				break
			}
			nth--
		}
	}
	if !allowed.IsSet(cpu) {
		return fmt.Errorf("CPU %d is not one of those that this process may use", cpu)
	}
	var one unix.CPUSet
	one.Set(cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return fmt.Errorf("binding qemu to CPU %d: %w", cpu, err)
	}
	return nil
}
