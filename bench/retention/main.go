// Command retention measures the rounds that remove garbage from a coordinator's folder with many trials: how long they take, how
// much memory, and what they cost those who write to the store meanwhile.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"misstep/app/retention"
	"misstep/bench"
	"misstep/coordinator/store/stores"
	"misstep/corpus/index"
	"misstep/corpus/localdir"
	"misstep/internal/testenv"
)

func main() {
	bench.Main("retention", func(ctx context.Context, stdout io.Writer) error {
		return run(ctx, stdout, os.Getenv("BUDGET"), os.Getenv("TRIALS"))
	})
}

// standardTrials is the number of trials without TRIALS.
const standardTrials = 1_000_000

// more is the number of trials that come between two rounds.
const more = 20_000

func run(ctx context.Context, stdout io.Writer, budgetText, trialsText string) (err error) {
	budget, err := bench.Budget(budgetText)
	if err != nil {
		return err
	}
	trials := standardTrials
	if trialsText != "" {
		if trials, err = strconv.Atoi(trialsText); err != nil || trials < 1000 {
			return fmt.Errorf("TRIALS=%s: expected a number from 1000 on", trialsText)
		}
	}
	start := time.Now()
	ctx, cancel := context.WithDeadline(ctx, start.Add(budget))
	defer cancel()
	dir := filepath.Join(testenv.Root(), "build", "bench", "retention")
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return err
	}
	st, err := stores.Open(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	f := &filler{store: st}
	if err := f.campaign(ctx); err != nil {
		return err
	}
	if err := f.add(ctx, trials); err != nil {
		return fmt.Errorf("fill the store: %w", err)
	}
	bench.Note("%d trials in %v", trials, time.Since(start).Round(time.Second))
	blobs, err := localdir.New(filepath.Join(dir, "blobs"))
	if err != nil {
		return err
	}
	m := measuring{filler: f, keeper: &retention.Keeper{
		Plan: retention.Plan{Grace: localdir.MinGrace}, Store: st, Blobs: blobs, Shared: index.Folder(filepath.Join(dir, "blobs")),
		Clock: time.Now, Logger: slog.New(slog.DiscardHandler), Dir: dir, Gentle: true,
	}}
	if err := m.all(ctx); err != nil {
		return err
	}
	report := bench.Report{
		Name: "retention", Date: start, Budget: budget, Goals: m.goals(), Tables: m.tables(), Rows: m.rounds,
		Reached: fmt.Sprintf("%d trials, %d rounds in %s", f.next, len(m.rounds), time.Since(start).Round(time.Second)),
	}
	return report.Finish(stdout, filepath.Join(testenv.Root(), "build", "bench"))
}
