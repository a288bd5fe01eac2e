package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"misstep/agent"
	"misstep/runner/jvm"
	"misstep/runner/process"
)

// passed are the signals that are passed on to the program. SIGTSTP and SIGWINCH come from the terminal, to all at once.
var passed = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
}

// program is the process of a command.
type program struct {
	Options
	path  string
	args  []string // with the program's name
	env   []string // nil for this process's
	pid   int
	began time.Time
	// own is the largest resident set of this process when it started the program's, in bytes: Linux counts it as the program's.
	own uint64
	// folder is where its JVM works, empty for this process's own.
	folder string
	stop   stop
}

// run runs the program in this process's group and with its streams, and passes on signals.
func (p *program) run(ctx context.Context) (process.Result, error) {
	cmd := &exec.Cmd{Path: p.path, Args: p.args, Env: p.env, Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr}
	signals := make(chan os.Signal, len(passed))
	signal.Notify(signals, passed...)
	defer signal.Stop(signals)
	if err := ctx.Err(); err != nil { // a signal came before: there is no program to pass it to
		return process.Result{}, err
	}
	p.began = time.Now()
	if err := cmd.Start(); err != nil {
		return process.Result{}, &NotStartedError{err}
	}
	p.pid, p.own = cmd.Process.Pid, ownPeak()
	done, stopped := make(chan struct{}), make(chan stop, 1)
	go func() { stopped <- p.pass(cmd.Process, signals, done) }()
	err := cmd.Wait()
	close(done)
	p.stop = <-stopped
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		return process.Result{}, fmt.Errorf("wait for %s: %w", p.path, err)
	}
	return resultOf(cmd.ProcessState, time.Since(p.began)), nil
}

// pass passes on signals until the program has ended. When its time is over, it asks the program to end, and later makes it end.
func (p *program) pass(to *os.Process, signals <-chan os.Signal, done <-chan struct{}) (s stop) {
	var over <-chan time.Time
	if p.For > 0 {
		over = time.After(p.For)
	}
	for {
		select {
		case <-done:
			return s
		case <-over:
			switch {
			case !s.asked.IsZero():
				p.say("%v later it still runs: it is killed (SIGKILL)", p.KillAfter)
				s.killed = to.Signal(syscall.SIGKILL) == nil
			case to.Signal(syscall.SIGTERM) == nil: // else it has ended meanwhile
				p.say("%v are over: the program is asked to end (SIGTERM)", p.For)
				s.asked = time.Now()
				if p.KillAfter > 0 {
					over = time.After(p.KillAfter)
				}
			}
		case sent := <-signals:
			if !fromTerminal(sent) {
				_ = to.Signal(sent)
			}
		}
	}
}

// conclude adds to a report how the program ended.
func (p *program) conclude(r *Report, ended process.Result) {
	r.MaxRSSBound = r.MaxRSS <= p.own
	r.Stopped = p.stop.ended(ended)
	if p.stop.killed {
		r.Notes = append(r.Notes, "the program did not end when asked to and was killed: what the agent and a profiler had not "+
			"written yet is lost")
	}
}

// fromTerminal reports whether the terminal has sent a signal, to all processes in its foreground: then the program has it already.
// That a key was pressed is concluded from being in the foreground.
func fromTerminal(s os.Signal) bool {
	if s != syscall.SIGINT && s != syscall.SIGQUIT {
		return false
	}
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer terminal.Close()
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// ownPeak is the largest resident set of this process, in bytes.
func ownPeak() uint64 {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) != nil { // no kernel refuses it
		return 0
	}
	return uint64(max(0, usage.Maxrss)) << 10
}

func resultOf(state *os.ProcessState, wall time.Duration) process.Result {
	r := process.Result{ExitCode: state.ExitCode(), Wall: wall, CPU: state.UserTime() + state.SystemTime()}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		r.Signal = status.Signal()
	}
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		r.MaxRSS = uint64(max(0, usage.Maxrss)) << 10
	}
	return r
}

// collect copies what the JVM left of a crash to where it is examined: the error file, and JFR's recording. Both stay where the
// program's user expects them.
func (p *program) collect(flags []string, dir string) error {
	if err := p.collectErrorFile(flags, p.pid, dir); err != nil {
		return err
	}
	for _, name := range []string{"hs_err_pid%d.jfr", "hs_oom_pid%d.jfr", "hs_soe_pid%d.jfr"} { // HotSpot jfrEmergencyDump.cpp
		name = fmt.Sprintf(name, p.pid)
		if err := copySince(p.began, name, filepath.Join(dir, jvm.WorkDir, name)); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) collectErrorFile(flags []string, pid int, dir string) error {
	for _, from := range errorFiles(flags, p.folder, pid) {
		if err := copySince(p.began, from, filepath.Join(dir, jvm.CrashFile)); err != nil {
			return err
		}
	}
	return nil
}

// collectAll copies the error files of the JVMs that left something in folders of dir to where they are examined. Those are missed
// that a JVM wrote to a working folder of its own, or where its own -XX:ErrorFile says.
func (p *program) collectAll(dir string) error {
	names, err := jvmsIn(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		about, err := agent.ReadAbout(name)
		if err != nil {
			continue // that JVM is not examined, which a note says
		}
		of := filepath.Dir(filepath.Dir(name))
		if err := p.collectErrorFile(strings.Fields(os.Getenv(toolOptions)), about.PID, of); err != nil {
			return err
		}
	}
	return nil
}

// errorFiles are the places where a JVM writes its error file, the likeliest last (HotSpot vmError.cpp, prepare_log_file).
func errorFiles(flags []string, folder string, pid int) []string {
	name := fmt.Sprintf("hs_err_pid%d.log", pid)
	files := []string{filepath.Join(os.TempDir(), name), filepath.Join("/tmp", name), filepath.Join(folder, name)}
	const option = "-XX:ErrorFile="
	if n := slices.IndexFunc(flags, func(f string) bool { return strings.HasPrefix(f, option) }); n >= 0 {
		file := strings.ReplaceAll(strings.TrimPrefix(flags[n], option), "%p", strconv.Itoa(pid))
		if !filepath.IsAbs(file) {
			file = filepath.Join(folder, file)
		}
		files = append(files, file)
	}
	return files
}
