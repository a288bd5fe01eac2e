// Command triage measures how well triage groups. It plants causes in real JVMs (corrupted walks, known bugs of JDKs, crashes,
// hangs, and failures that are not findings), keeps each trial's outcome with its cause as a label, groups the outcomes with the
// product's own triage, which does not see the labels, and reports precision and recall.
//
// The outcomes are kept in build/bench/triage.outcomes.jsonl: a later run resumes from there, and with ROUNDS=0 it makes no trials
// and only measures, which takes a second. SAMPLE=FILE writes a sample of them that is small enough to be committed: the test of
// triage checks precision and recall with one. ONLY=TEXT makes only the trials of labels that contain TEXT.
//
// Half of the budget goes to reports: error files and thread dumps that real JVMs write of planted crashes and hangs (package
// bench/triage/reports). They are kept in build/bench/triage.reports.jsonl and measured together with those in the repository,
// which SAMPLE_REPORTS=FILE writes.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"misstep/bench"
	"misstep/triage/triagetest"
)

const (
	resultsDir = "build/bench"
	// rounds is the default number of rounds; each makes one trial of each experiment.
	rounds = 5
	// workers is the number of concurrent trials: those that wait for a watchdog need no processor.
	workers = 3
)

func main() { bench.Main("triage", run) }

func run(ctx context.Context, stdout io.Writer) error {
	budget, err := bench.Budget(os.Getenv("BUDGET"))
	if err != nil {
		return err
	}
	many := rounds
	if text := os.Getenv("ROUNDS"); text != "" {
		if many, err = strconv.Atoi(text); err != nil || many < 0 {
			return fmt.Errorf("ROUNDS=%s: expected the number of trials of each experiment, 0 for none", text)
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
	texts, err := makeReports(ctx, many, start.Add(budget/2))
	if err != nil {
		return err
	}
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
	report, err := measure(s.Entries, texts)
	if err != nil {
		return err
	}
	report.Date, report.Budget = start, budget
	report.Reached = fmt.Sprintf("%d outcomes stored before, %d added in %v; %d reports", before, len(s.Entries)-before,
		time.Since(start).Round(time.Second), len(texts))
	return report.Finish(stdout, resultsDir)
}

// task is one trial to be made.
type task struct {
	experiment
	name  string
	round int
	seed  uint64
}

// makeOutcomes makes the trials that are not in the store, round by round, until the time is up.
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

// make makes one trial and stores its outcomes.
func (b *bed) make(ctx context.Context, t task, s *bench.Store[triagetest.Labelled], lock *sync.Mutex) error {
	fit := b.fits(t.experiment)
	if len(fit) == 0 || strings.Contains(t.shell, throttled) && !b.starves {
		bench.Note("%s: cannot be planted on this machine", t.label)
		return nil
	}
	// Both depend on the round and on the experiment, so that each label is tried on several JDKs, and each JDK even in a short
	// run.
	j := fit[(int(t.seed&0xffff)+2*t.round)%len(fit)]
	p := t.programs[t.round%len(t.programs)]
	begun := time.Now()
	outcomes, err := b.run(ctx, t.experiment, t.name, j, p, t.seed)
	if err != nil {
		return fmt.Errorf("%s on %s: %w", t.name, j.Name, err)
	}
	lock.Lock()
	defer lock.Unlock()
	hits := triagetest.Group(outcomes)
	bench.Note("%s on %s, %s: %d findings %s, %.1f s", t.name, j.Name, p.name, len(hits), outcomes[0].Infrastructure,
		time.Since(begun).Seconds())
	for _, l := range outcomes {
		if err := s.Add(l); err != nil {
			return err
		}
	}
	return nil
}
