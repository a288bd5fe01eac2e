// Command triage measures how well triage groups. It plants causes in real JVMs (corrupted walks, known bugs of JDKs, crashes, hangs, and
// troubles that are no findings at all), keeps what each trial left with its cause as a label, lets the product's own triage sort it
// without the labels, and reports precision and recall.
//
// What the trials left is kept in build/bench/triage.outcomes.jsonl: a later run goes on from there, and with ROUNDS=0 it makes no trial and
// only measures, which takes a second. SAMPLE=FILE writes a sample of them that is small enough to be committed: the test of coordinator/triage
// holds precision and recall by one. ONLY=TEXT makes the trials of labels that contain it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"misstep/bench"
	"misstep/coordinator/triage/triagetest"
)

const (
	resultsDir = "build/bench"
	// rounds of one trial of each experiment.
	rounds = 5
	// workers run a trial each: those that wait for a watchdog need no processor.
	workers = 3
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench-triage:", err)
		os.Exit(1)
	}
}

func run(stdout io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	budget, err := bench.Budget(os.Getenv("BUDGET"))
	if err != nil {
		return err
	}
	many := rounds
	if text := os.Getenv("ROUNDS"); text != "" {
		if many, err = strconv.Atoi(text); err != nil || many < 0 {
			return fmt.Errorf("ROUNDS=%s: expected a number of trials of each experiment, 0 to make none", text)
		}
	}
	if err := os.MkdirAll(resultsDir, 0o755); err != nil {
		return fmt.Errorf("make the folder of results: %w", err)
	}
	s, err := bench.OpenStore[triagetest.Labelled](filepath.Join(resultsDir, "triage.outcomes.jsonl"))
	if err != nil {
		return err
	}
	defer s.Close()
	start := time.Now()
	before := len(s.Entries)
	if many > 0 {
		if err := makeOutcomes(ctx, s, many, start.Add(budget)); err != nil {
			return err
		}
	}
	if path := os.Getenv("SAMPLE"); path != "" {
		if err := writeSample(path, s.Entries); err != nil {
			return err
		}
	}
	report := measure(s.Entries)
	report.Date, report.Budget = start, budget
	report.Reached = fmt.Sprintf("%d lines were there, %d made in %v", before, len(s.Entries)-before, time.Since(start).Round(time.Second))
	return report.Finish(stdout, resultsDir)
}

// task is one trial to be made.
type task struct {
	experiment
	name  string
	round int
	seed  uint64
}

// makeOutcomes makes the trials that the store has not, round by round, until the time is up.
func makeOutcomes(ctx context.Context, s *bench.Store[triagetest.Labelled], many int, until time.Time) error {
	dir, err := os.MkdirTemp("", "misstep-bench-triage-")
	if err != nil {
		return fmt.Errorf("make a folder for the trials: %w", err)
	}
	defer os.RemoveAll(dir)
	b, err := openBed(ctx, dir)
	if err != nil {
		return err
	}
	defer b.close()
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	done := map[string]bool{}
	for _, l := range s.Entries {
		done[l.Trial] = true
	}
	var tasks []task
	for round := range many {
		for i, e := range experiments() {
			t := task{e, fmt.Sprintf("%s %s, trial %d", e.label, e.variant, round), round, uint64(round)<<16 | uint64(i)}
			if only := os.Getenv("ONLY"); !done[t.name] && strings.Contains(e.label, only) {
				tasks = append(tasks, t)
			}
		}
	}
	todo := make(chan task)
	go func() {
		defer close(todo)
		for _, t := range tasks {
			select {
			case todo <- t:
			case <-ctx.Done():
				return
			}
		}
	}()
	var lock sync.Mutex
	var failed error
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for t := range todo {
				if err := b.make(ctx, t, s, &lock); err != nil && ctx.Err() == nil {
					lock.Lock()
					failed = errors.Join(failed, err)
					lock.Unlock()
					cancel()
				}
			}
		})
	}
	all.Wait()
	return failed
}

// make makes one trial and keeps what it left.
func (b *bed) make(ctx context.Context, t task, s *bench.Store[triagetest.Labelled], lock *sync.Mutex) error {
	fit := b.fits(t.experiment)
	if len(fit) == 0 || strings.Contains(t.shell, throttled) && !b.starves {
		note("%s: cannot be planted here", t.label)
		return nil
	}
	// Both move with the round, and with the experiment, so that each label is seen on several JDKs and each JDK in a short run.
	j := fit[(int(t.seed&0xffff)+2*t.round)%len(fit)]
	p := t.programs[t.round%len(t.programs)]
	begun := time.Now()
	made, err := b.run(ctx, t.experiment, t.name, j, p, t.seed)
	if err != nil {
		return fmt.Errorf("%s on %s: %w", t.name, j.Name, err)
	}
	lock.Lock()
	defer lock.Unlock()
	hits := triagetest.Group(made)
	note("%s on %s, %s: %d findings %s, %.1f s", t.name, j.Name, p.name, len(hits), made[0].Infrastructure, time.Since(begun).Seconds())
	for _, l := range made {
		if err := s.Add(l); err != nil {
			return err
		}
	}
	return nil
}

// note tells on stderr what goes on.
func note(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
}
