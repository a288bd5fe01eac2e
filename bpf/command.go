package bpf

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"misstep/schedule"
)

// Exit codes of RunRequest and ReplayRequest besides the program's own; 124 is also that of timeout(1).
const (
	CodeEjected = 123 // the kernel ejected the scheduler: the run proves nothing
	CodeTimeout = 124
)

// Program is a command line to run under the scheduler.
type Program struct {
	Command []string
	// Timeout ends a run with CodeTimeout; 0 means no limit.
	Timeout time.Duration
	// User is the user to run the command as; empty means the caller of sudo, else the user of this process.
	User string
	// JSON prints the counters as JSON; Threads is the number of threads that are listed otherwise.
	JSON    bool
	Threads int
	// Stdout and Stderr are the command's. The counters are written to Stderr, so that only the command writes to Stdout.
	Stdout, Stderr io.Writer
}

// RunRequest runs a program under the perturbing scheduler.
type RunRequest struct {
	Program
	Perturbation schedule.Perturbation
	// Log is a file for the decisions, those of the last run if there are several; empty writes none.
	Log string
	// RepeatUntilFailure runs again with the next seed until a run fails, at most MaxRuns times if that is not 0.
	RepeatUntilFailure bool
	MaxRuns            int
	// ErrorCommand is a shell command to run after a failure, with MISSTEP_SEED and MISSTEP_EXIT set; not after an ejection.
	ErrorCommand string
}

// ReplayRequest runs a program with the recorded decisions of a log.
type ReplayRequest struct {
	Program
	// File is the path of the log.
	File string
	// Round is the number of threads that the program creates in each round when it repeats itself: every round takes the
	// decisions of the log's last one. 0 means no rounds.
	Round int
	// Places is the maximum number of places at which threads are stopped, at most MaxPlaces.
	Places int
}

// PlacesRequest lists the places at which a log's threads were stopped near its end and rarely before.
type PlacesRequest struct {
	File  string
	Round int // as in ReplayRequest
	Count int // of places to list
	// Stderr receives remarks about the log.
	Stderr io.Writer
}

// Run runs the command once or until it fails, and returns the exit code: the command's own, CodeEjected, CodeTimeout, or 128+N
// after signal N. A command that could not be started is a NotStartedError.
func (r RunRequest) Run(ctx context.Context) (code int, err error) {
	if err := r.Perturbation.Validate(); err != nil {
		return 0, err
	}
	if r.MaxRuns != 0 && (!r.RepeatUntilFailure || r.MaxRuns < 0) {
		return 0, errors.New("--max-runs: expected a positive number, together with --repeat-until-failure")
	}
	if err := r.check(); err != nil {
		return 0, err
	}
	if err := Supported(); err != nil {
		return 0, err
	}
	return r.repeat(ctx, func(p schedule.Perturbation) (*Result, error) {
		return r.once(ctx, Options{Perturbation: p, FixedAddresses: r.Log != ""}, r.Log)
	})
}

// repeat runs once, or until a run fails. A run that proves nothing, because it was ejected or interrupted, ends the repetition and
// is not a failure.
func (r RunRequest) repeat(ctx context.Context, once func(schedule.Perturbation) (*Result, error)) (code int, err error) {
	p := r.Perturbation
	for i := 1; ; i++ {
		result, err := once(p)
		if err != nil {
			return 0, err
		}
		code = result.Code()
		void := result.Report.Ejection != nil || ctx.Err() != nil
		last := r.MaxRuns > 0 && i >= r.MaxRuns
		if r.RepeatUntilFailure && code == 0 && !void && !last {
			p.Seed++
			continue
		}
		r.print(result)
		switch {
		case void:
		case code != 0:
			if r.RepeatUntilFailure {
				fmt.Fprintf(r.Stderr, "misstep sched: run %d, seed %d: exit code %d\n", i, p.Seed, code)
			}
			r.failed(ctx, p, code)
		case last:
			fmt.Fprintf(r.Stderr, "misstep sched: no failure in %d runs, seeds %d to %d\n", i, r.Perturbation.Seed, p.Seed)
		}
		return code, nil
	}
}

// failed runs the error command, as the user of the command itself.
func (r RunRequest) failed(ctx context.Context, p schedule.Perturbation, code int) {
	if r.ErrorCommand == "" {
		return
	}
	credential, env, err := credentialOf(r.User)
	if err != nil {
		fmt.Fprintf(r.Stderr, "misstep sched: error command: %v\n", err)
		return
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", r.ErrorCommand)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	cmd.Env = append(append(os.Environ(), env...), fmt.Sprintf("MISSTEP_SEED=%d", p.Seed), fmt.Sprintf("MISSTEP_EXIT=%d", code))
	cmd.Stdout, cmd.Stderr = r.Stdout, r.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintf(r.Stderr, "misstep sched: error command: %v\n", err)
	}
}

// readReplayable reads the log in a file and reports on stderr what is missing from it.
func readReplayable(file string, stderr io.Writer) (*schedule.Log, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	log, err := schedule.ReadLog(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if m := log.Header.Mechanism; m != "" {
		return nil, fmt.Errorf("%s: these are decisions of the mechanism %.40q, taken at points that the scheduler does not see: "+
			"repeat them from the recipe's seed with misstep run RECIPE or misstep replay BUNDLE", file, m)
	}
	if log.Cut {
		fmt.Fprintf(stderr, "misstep sched: %s: %v: its end is not the end of the run\n", file, schedule.ErrCut)
	}
	if log.Lost > 0 {
		fmt.Fprintf(stderr, "misstep sched: %s: %d records were lost when it was recorded\n", file, log.Lost)
	}
	if !log.Header.FixedAddresses {
		fmt.Fprintf(stderr, "misstep sched: %s: addresses were random when it was recorded: its places are valid for that run "+
			"only, and no replay stops threads there\n", file)
	}
	return log, nil
}

// Run replays the log; it returns what RunRequest.Run does.
func (r ReplayRequest) Run(ctx context.Context) (code int, err error) {
	if r.Places < 0 || r.Places > schedule.MaxPlaces {
		return 0, fmt.Errorf("--places %d: expected 0 to %d, the number of hardware breakpoints", r.Places, schedule.MaxPlaces)
	}
	log, err := readReplayable(r.File, r.Stderr)
	if err != nil {
		return 0, fmt.Errorf("replay: %w", err)
	}
	if err := r.check(); err != nil {
		return 0, err
	}
	if !slices.Equal(r.Command, log.Header.Command) {
		fmt.Fprintf(r.Stderr, "misstep sched: the log was recorded with another command: %s\n",
			schedule.Printable(strings.Join(log.Header.Command, " ")))
	}
	o := Options{Perturbation: log.Header.Perturbation, Replay: log, Round: r.Round, FixedAddresses: log.Header.FixedAddresses}
	if o.FixedAddresses && r.Places > 0 {
		stops, err := log.Stops(r.Round)
		if err != nil {
			return 0, err
		}
		o.Stops = schedule.Choose(stops, r.Places)
	}
	result, err := r.once(ctx, o, "")
	if err != nil {
		return 0, err
	}
	r.print(result)
	return result.Code(), nil
}

func (p Program) check() error {
	if len(p.Command) == 0 {
		return errors.New("no command: give it after --")
	}
	if p.Timeout < 0 || p.Threads < 0 {
		return errors.New("--timeout and --threads: expected no negative value")
	}
	return nil
}

func (p Program) print(r *Result) {
	if p.JSON {
		e := json.NewEncoder(p.Stderr)
		e.SetIndent("", "  ")
		_ = e.Encode(r.Report)
		return
	}
	r.Report.Write(p.Stderr, p.Threads)
	if r.TimedOut {
		fmt.Fprintf(p.Stderr, "misstep sched: timed out after %v\n", p.Timeout)
	}
}

// once runs a command under a scheduler of its own.
func (p Program) once(ctx context.Context, o Options, logFile string) (result *Result, err error) {
	credential, env, err := credentialOf(p.User)
	if err != nil {
		return nil, err
	}
	if logFile != "" {
		f, err := os.Create(logFile)
		if err != nil {
			return nil, fmt.Errorf("write schedule log: %w", err)
		}
		defer func() {
			if closing := f.Close(); err == nil && closing != nil {
				result, err = nil, fmt.Errorf("write schedule log: %w", closing)
			}
		}()
		header := schedule.Header{Perturbation: o.Perturbation, FixedAddresses: o.FixedAddresses, Command: p.Command}
		if o.Log, err = schedule.NewLogWriter(f, header); err != nil {
			return nil, err
		}
	}
	if p.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, p.Timeout, errTimeout)
		defer cancel()
	}
	cmd := exec.Command(p.Command[0], p.Command[1:]...)
	cmd.Env = append(os.Environ(), env...) // the last value of a variable counts
	cmd.Stdout, cmd.Stderr = p.Stdout, p.Stderr
	if !terminal(os.Stdin) { // the command is not in the foreground: reading from a terminal would stop it
		cmd.Stdin = os.Stdin
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	return Run(ctx, o, cmd)
}

// List returns the places, the most significant first.
func (r PlacesRequest) List() ([]schedule.StopReport, error) {
	if r.Count < 1 {
		return nil, fmt.Errorf("--count %d: expected 1 or more", r.Count)
	}
	log, err := readReplayable(r.File, r.Stderr)
	if err != nil {
		return nil, fmt.Errorf("places: %w", err)
	}
	stops, err := log.Stops(r.Round)
	if err != nil {
		return nil, fmt.Errorf("places: %w", err)
	}
	names := schedule.ThreadNames{}
	for _, t := range log.Threads {
		names.Add(t)
	}
	return schedule.StopReports(stops[:min(r.Count, len(stops))], names, log.Header), nil
}
