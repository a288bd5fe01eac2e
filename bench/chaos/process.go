package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"misstep/internal/tied"
)

// markVariable is in the environment of every process of a run, with the run's own value.
const markVariable = "MISSTEP_CHAOS"

// service is a process that is started again when it ends, as by an init system.
type service struct {
	name string
	// command makes the process, not yet started.
	command func() *exec.Cmd
	log     string

	mu      sync.Mutex
	cmd     *exec.Cmd
	ended   chan struct{} // closed when cmd has ended
	held    bool          // not to be started now
	closing bool
	// expected says that its next end is by a fault.
	expected bool
	// Surprises counts ends that no fault caused.
	Surprises int
	// Pids are those of all its processes so far.
	Pids []int
}

// restartPause is how long a service that ended by itself is down.
const restartPause = 200 * time.Millisecond

// start starts the process, unless it is held or runs.
func (s *service) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held || s.closing || s.cmd != nil {
		return nil
	}
	cmd := s.command()
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("start %s: %w", s.name, err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := tied.Start(cmd); err != nil {
		return fmt.Errorf("start %s: %w", s.name, err)
	}
	s.cmd, s.ended, s.expected = cmd, make(chan struct{}), false
	s.Pids = append(s.Pids, cmd.Process.Pid)
	go s.watch(cmd, s.ended)
	return nil
}

// watch starts the service again after its end.
func (s *service) watch(cmd *exec.Cmd, ended chan struct{}) {
	_ = cmd.Wait()
	s.mu.Lock()
	s.cmd = nil
	if !s.expected && !s.closing {
		s.Surprises++
	}
	s.mu.Unlock()
	close(ended)
	time.Sleep(restartPause)
	_ = s.start() // an error repeats at the next fault of this service; heal reports it
}

// signal sends a signal; last says that it is meant to end the process.
func (s *service) signal(sig syscall.Signal, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil {
		s.expected = s.expected || last
		_ = s.cmd.Process.Signal(sig)
	}
}

// down ends the process by a signal and keeps it down for a while after its end.
func (s *service) down(sig syscall.Signal, lasts time.Duration) {
	s.mu.Lock()
	s.held = true
	ended := s.ended
	running := s.cmd != nil
	s.mu.Unlock()
	s.signal(sig, true)
	if running {
		select {
		case <-ended:
		case <-time.After(15 * time.Second): // it drains for longer than that, or is stopped
			s.signal(syscall.SIGKILL, true)
			<-ended
		}
	}
	time.Sleep(lasts)
	s.mu.Lock()
	s.held = false
	s.mu.Unlock()
	_ = s.start()
}

// close ends the process for good.
func (s *service) close(sig syscall.Signal, patience time.Duration) {
	s.mu.Lock()
	s.closing = true
	ended := s.ended
	running := s.cmd != nil
	s.mu.Unlock()
	if !running {
		return
	}
	s.signal(syscall.SIGCONT, true)
	s.signal(sig, true)
	select {
	case <-ended:
	case <-time.After(patience):
		s.signal(syscall.SIGKILL, true)
		<-ended
	}
}

// leftProcesses lists the processes that carry the mark of a run, except this one.
func leftProcesses(mark string) (left []string, err error) {
	return processesWith(markVariable + "=" + mark + "\x00")
}

// processesWith lists the processes, except this one, whose environment has a variable that begins like this.
func processesWith(variable string) (left []string, err error) {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		dir := filepath.Dir(file)
		if err != nil || filepath.Base(dir) == fmt.Sprint(os.Getpid()) {
			continue // it has just ended, or is another user's
		}
		if strings.Contains("\x00"+string(data), "\x00"+variable) {
			line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
			left = append(left, filepath.Base(dir)+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return left, nil
}

// panics lists the lines of a log that show that a process from Misstep broke.
func panics(log string) (found []string, err error) {
	data, err := os.ReadFile(log)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for line := range strings.Lines(string(data)) {
		for _, word := range []string{"panic: ", "fatal error: ", "SIGBUS", "DATA RACE", "SIGSEGV"} {
			if strings.HasPrefix(line, word) || strings.Contains(line, word) && strings.Contains(line, "[signal") {
				found = append(found, strings.TrimSpace(line))
				break
			}
		}
	}
	return found, err
}
