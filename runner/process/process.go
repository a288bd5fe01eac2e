package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"misstep/internal/sandbox"
	"misstep/internal/tied"
)

const (
	// sweepPatience bounds the wait for killed processes to be gone.
	sweepPatience = 10 * time.Second
	// drainPatience bounds the wait for the last output after all writers are dead.
	drainPatience = 5 * time.Second
)

// Spec is the specification of a program to run.
type Spec struct {
	// Path of the program, absolute.
	Path string
	// Args without the program's name.
	Args []string
	// Env is the whole environment; nothing is inherited. The mark is added.
	Env []string
	// Dir to run in.
	Dir string
	// Mark is unique to the trial, e.g. the trial's folder.
	Mark string
	// Stdout and Stderr receive the output; they are closed when the program has ended.
	Stdout, Stderr *Stream
	// Cgroup to run in; nil for none.
	Cgroup *Cgroup
	// Box confines the program; nil confines nothing.
	Box *sandbox.Box
	// Core bounds the core file that the kernel may write when a signal kills the program, in bytes; 0 for none.
	Core uint64
	// Start starts the command; nil means the command's own Start method. It is called on a thread that lives as long as the
	// program, and again with another command if the kernel refused to create the process in the cgroup.
	Start func(*exec.Cmd) error
}

func (s Spec) start(cmd *exec.Cmd) error {
	start := s.Start
	if start == nil {
		start = (*exec.Cmd).Start
	}
	if s.Box != nil {
		return s.Box.Start(cmd, start)
	}
	return start(cmd)
}

// Process is a program that runs or has run. Safe for concurrent use.
type Process struct {
	spec  Spec
	pid   int
	began time.Time
	done  chan struct{}

	mu     sync.Mutex
	family family
	joined map[int]uint64 // processes in the cgroup: pid to start time
	gone   bool           // reaped: its pid may belong to another
	result Result
}

// Result is how a program ended.
type Result struct {
	// ExitCode of the program, -1 when a signal ended it.
	ExitCode int
	// Signal that killed it, 0 for none.
	Signal syscall.Signal
	// Wall time from start to end.
	Wall time.Duration
	// CPU time, user and system, of the program and the children that it waited for.
	CPU time.Duration
	// MaxRSS is the highest resident set of the program in bytes.
	MaxRSS uint64
	// Err is an infrastructure failure: output that could not be written, processes that survive SIGKILL.
	Err error
}

var subreaper = sync.OnceValue(func() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the reaper of orphans: %w", err)
	}
	return nil
})

// Start starts a program. An error means that the program did not run at all.
func Start(spec Spec) (*Process, error) {
	if err := subreaper(); err != nil {
		return nil, err
	}
	p := &Process{spec: spec, done: make(chan struct{})}
	started := make(chan error)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Path, err)
	}
	return p, nil
}

// run starts the program and waits for it, all on one operating system thread: PR_SET_PDEATHSIG fires when the *thread* that
// forked ends, not the process (prctl(2), golang.org/issue/27505), so that thread must live as long as the program.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	outR, outW, err := os.Pipe()
	if err != nil {
		started <- err
		return
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		_, _ = outR.Close(), outW.Close()
		started <- err
		return
	}
	cmd := p.command(outW, errW)
	p.began = time.Now()
	err = p.spec.start(cmd)
	if cmd.SysProcAttr.UseCgroupFD {
		if err != nil { // not every kernel and delegation allows creation in a group: join the group after the start
			again := p.command(outW, errW)
			again.SysProcAttr.UseCgroupFD = false
			err = p.spec.start(again)
			_ = syscall.Close(cmd.SysProcAttr.CgroupFD)
			cmd = again
		} else {
			_ = syscall.Close(cmd.SysProcAttr.CgroupFD)
		}
	}
	_, _ = outW.Close(), errW.Close()
	if err != nil {
		_, _ = outR.Close(), errR.Close()
		started <- err
		return
	}
	p.pid = cmd.Process.Pid
	p.spec.Cgroup.add(p.pid)
	p.limitCore(p.spec.Core)
	if u := p.spec.Box.User(); u != nil && sandbox.IsOwn(u.Uid) { // else others have that user, too
		p.limit(unix.RLIMIT_NPROC, MaxTasks)
	}
	p.family = family{leader: p.pid, mark: p.spec.Mark, user: p.spec.Box.User(), known: map[int]uint64{}}
	p.mu.Lock()
	p.join(p.family.members(false))
	p.mu.Unlock()
	started <- nil

	var copies sync.WaitGroup
	copies.Go(func() { p.spec.Stdout.copy(outR) })
	copies.Go(func() { p.spec.Stderr.copy(errR) })

	// Wait without reaping: while the dead leader is a zombie, no other process can get its pid, so killing the group is safe.
	tied.AwaitEnd(p.pid)
	wall := time.Since(p.began)
	_ = unix.Kill(-p.pid, unix.SIGKILL)
	p.spec.Cgroup.Kill()
	p.mu.Lock()
	sweepErr := p.family.sweep(sweepPatience)
	_ = cmd.Wait() // its error repeats what ProcessState says
	p.gone = true
	p.mu.Unlock()

	drained := make(chan struct{})
	go func() { copies.Wait(); close(drained) }()
	select {
	case <-drained:
	case <-time.After(drainPatience): // a process that could not be killed holds the pipes
		_ = outR.SetReadDeadline(time.Unix(1, 0))
		_ = errR.SetReadDeadline(time.Unix(1, 0))
		<-drained
	}
	_, _ = outR.Close(), errR.Close()
	result := Result{ExitCode: -1, Wall: wall, Err: errors.Join(sweepErr, p.spec.Stdout.Close(), p.spec.Stderr.Close())}
	if state := cmd.ProcessState; state != nil {
		status, _ := state.Sys().(syscall.WaitStatus)
		if status.Signaled() {
			result.Signal = status.Signal()
		} else {
			result.ExitCode = status.ExitStatus()
		}
		result.CPU = state.UserTime() + state.SystemTime()
		if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
			result.MaxRSS = uint64(max(0, usage.Maxrss)) << 10
		}
	}
	p.mu.Lock()
	p.result = result
	p.mu.Unlock()
	close(p.done)
}

func (p *Process) command(stdout, stderr *os.File) *exec.Cmd {
	cmd := exec.Command(p.spec.Path, p.spec.Args...)
	cmd.Env = append(append([]string(nil), p.spec.Env...), Mark+"="+p.spec.Mark)
	cmd.Dir = p.spec.Dir
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if folder := p.spec.Cgroup.open(); folder != nil && p.spec.Box.JoinsLater() {
		_ = folder.Close()
	} else if folder != nil {
		defer folder.Close()
		if fd, err := unix.FcntlInt(folder.Fd(), unix.F_DUPFD_CLOEXEC, 0); err == nil {
			cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, fd
		}
	}
	return cmd
}

// limitCore bounds the core file in bytes. If the kernel refuses because its own limit is lower, the core file is shorter.
func (p *Process) limitCore(bytes uint64) { p.limit(unix.RLIMIT_CORE, bytes) }

// limit sets a limit of the program, if the kernel has no lower one.
func (p *Process) limit(resource int, most uint64) {
	set := func() error { return unix.Prlimit(p.pid, resource, &unix.Rlimit{Cur: most, Max: most}, nil) }
	if errors.Is(set(), unix.EPERM) { // without CAP_SYS_RESOURCE
		_ = p.spec.Box.As(set)
	}
}

// Abort makes the program report its state and end, by SIGABRT, without a core file.
func (p *Process) Abort() {
	p.limitCore(0)
	p.Signal(syscall.SIGABRT)
}

// PID returns the program's process id.
func (p *Process) PID() int { return p.pid }

// Began returns the time of the program's start.
func (p *Process) Began() time.Time { return p.began }

// Done returns a channel that is closed when the program and all its descendants have ended and its output is complete.
func (p *Process) Done() <-chan struct{} { return p.done }

// Result returns how the program ended; call it after Done.
func (p *Process) Result() Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.result
}

// Signal sends a signal to the program itself, unless it has been reaped.
func (p *Process) Signal(signal syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone {
		_ = unix.Kill(p.pid, signal)
	}
}

// Kill kills the program, its group and its cgroup at once; Done follows.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL) // its waiter does the rest
}

// LeaderRSS returns the resident set of the program itself in bytes; it is cheap enough for frequent calls.
func (p *Process) LeaderRSS() uint64 {
	s, _ := readStat(p.pid)
	return s.rss
}
