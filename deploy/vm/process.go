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

// firstExtraFD is the descriptor number that the first of a launch's files has in the process.
const firstExtraFD = 3

// launch describes a helper process to start: qemu or virtiofsd.
type launch struct {
	path   string
	args   []string
	env    []string // NAME=VALUE, added to this process's own
	dir    string
	output io.Writer
	files  []*os.File
	pin    bool
	cpu    int          // with pin: the host CPU; negative: one of those allowed
	before func() error // runs in the thread that forks; nil for none; may change per-thread state such as mounts
}

// process is a helper process in a process group of its own. It dies with this program, however that ends: the kernel kills it when
// the thread that forked it ends (PR_SET_PDEATHSIG), so that thread is reserved for it.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // valid after done
}

// start starts a process from a dedicated thread.
func start(l launch) (*process, error) {
	cmd := exec.Command(l.path, l.args...)
	cmd.Env = append(os.Environ(), l.env...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = l.dir, l.output, l.output, l.files
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = 5 * time.Second
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// Never unlocked: the modified thread ends with this goroutine.
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

// wait waits for the process and returns its exit error.
func (p *process) wait() error {
	<-p.done
	return p.err
}

// ended reports whether the process has ended.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// stop kills the process unless it has ended, and returns when it has.
func (p *process) stop() {
	if !p.ended() {
		p.kill()
		<-p.done
	}
}

// turn distributes the machines of one process over the CPUs.
var turn atomic.Uint32

// pinThread pins the calling thread, and what it forks, to one CPU. Unpinned, qemu's threads run concurrently, and the order in
// which they take its big lock becomes visible in the guest.
func pinThread(cpu int) error {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return fmt.Errorf("getting the CPU affinity: %w", err)
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
		return fmt.Errorf("CPU %d is not among the CPUs that this process may use (see its affinity mask)", cpu)
	}
	var one unix.CPUSet
	one.Set(cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return fmt.Errorf("pinning qemu to CPU %d: %w", cpu, err)
	}
	return nil
}
