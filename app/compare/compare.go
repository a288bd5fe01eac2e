// Package compare runs the same recipes on two builds in turn and says what became better, worse, or stayed the same.
//
// A pair is one recipe with one seed, run on both builds right after each other in an order that a coin decides: a machine that
// slows down, or another that works beside, meets both alike. Everything that Judge says rests on pairs, not on samples.
package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"misstep/app"
	"misstep/app/executors"
	"misstep/app/local"
	"misstep/internal/paired"
	"misstep/internal/splitmix"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
)

// Comparison is what to compare.
type Comparison struct {
	Installation local.Installation
	// Campaign is a file; its JDKs are replaced by those of the sides, and its profilers where a side names one.
	Campaign string
	Sides    [2]Build
	// For is the time after which no pair begins any more, Pairs their largest number; 0 of both takes the campaign's budget.
	For   time.Duration
	Pairs uint64
	// Slots is the number of pairs at once.
	Slots  int
	Margin float64
	Level  float64
	Say    app.Say
	Logger *slog.Logger
	// Dir keeps the results; empty keeps none.
	Dir string
}

// Build is one side.
type Build struct {
	JDK string `json:"jdk"`
	// Version and Digest of the JDK.
	Version string `json:"version"`
	Digest  string `json:"digest"`
	// Profiler replaces the campaign's, as in recipe.ParseProfiler; empty leaves them.
	Profiler string `json:"profiler,omitempty"`
	// Profilers is a folder with another build of a profiler's library; empty takes the installed one.
	Profilers string `json:"profilers,omitempty"`
}

// Report is the result.
type Report struct {
	Campaign string    `json:"campaign"`
	Builds   [2]Build  `json:"builds"`
	Started  time.Time `json:"started"`
	// Elapsed time, with the last pairs, which still finish.
	Elapsed time.Duration `json:"elapsed"`
	// Pairs that are whole; Unfinished ones were interrupted, Failed ones could not run, Void ones have a trial that proved
	// nothing.
	Pairs      int `json:"pairs"`
	Unfinished int `json:"unfinished"`
	Failed     int `json:"failed"`
	Void       int `json:"void"`
	// WhyVoid is the reason of the first void trial.
	WhyVoid string `json:"why_void,omitempty"`
	// Recipes that were run at least once.
	Recipes []string `json:"recipes"`
	// LeftOut are combinations that no build can run.
	LeftOut []string `json:"left_out,omitempty"`
	Options Options  `json:"options"`
	Judged
	// Overall is worse if anything is, else better if anything is, else undecided if anything is or nothing was compared, else
	// same.
	Overall paired.Verdict `json:"overall"`
	// Dir has what was kept.
	Dir string `json:"dir,omitempty"`
}

// Proved reports whether a pair compared anything.
func (r *Report) Proved() bool { return r.Pairs > r.Void }

// pairOf is a pair that has run.
type pairOf struct {
	trials [2]Trial
	err    error
	cut    bool // by an interruption
}

// Run compares until the budget is used up or the context ends; either way it reports the pairs so far.
func (c Comparison) Run(ctx context.Context) (*Report, error) {
	scratch, remove, err := executors.Scratch("misstep-compare-")
	if err != nil {
		return nil, err
	}
	defer remove()
	var at [2]place
	var run [2]runner.Executor
	for side := range at {
		s := Side(side)
		if at[side], err = c.install(ctx, s, filepath.Join(scratch, "jdk-"+s.String())); err != nil {
			return nil, err
		}
		if run[side], err = c.executor(s, at[side], filepath.Join(scratch, s.String())); err != nil {
			return nil, err
		}
	}
	p, err := c.plan(ctx, at)
	if err != nil {
		return nil, err
	}
	k, err := newKeeper(c.Dir)
	if err != nil {
		return nil, err
	}
	r := &Report{
		Campaign: p.name, Builds: p.builds, Started: time.Now().UTC().Truncate(time.Second), LeftOut: p.leftOut, Dir: k.dir,
		Recipes: []string{}, Options: Options{Margin: c.Margin, Level: c.Level},
	}
	counter := newCounter(p.jdks)
	var whole [][2]Trial
	err = p.each(ctx, c.Slots, run, func(i int, done pairOf) error {
		switch {
		case done.cut:
			r.Unfinished++
			return nil
		case done.err != nil:
			r.Failed++
			c.Say("pair %d could not run: %s", i+1, app.Message(done.err))
			if len(whole) == 0 && (r.Failed >= hopeless || runner.IsPermanent(done.err)) {
				return fmt.Errorf("pair %d: %w", i+1, done.err)
			}
			return nil
		}
		whole = append(whole, done.trials)
		return k.keep(done.trials)
	}, counter, func(pairs int, elapsed time.Duration) { c.Say("%s", p.progress(pairs, elapsed)) })
	if err = errors.Join(err, k.close()); err != nil {
		return nil, err
	}
	r.finish(whole, counter.bugs)
	return r, k.report(r)
}

// hopeless is the number of pairs that may fail before any has run.
const hopeless = 3

// finish judges the pairs.
func (r *Report) finish(whole [][2]Trial, bugs map[string]Bug) {
	r.Elapsed = time.Since(r.Started).Round(time.Second)
	slices.SortFunc(whole, func(a, b [2]Trial) int { return a[0].Pair - b[0].Pair })
	r.Pairs = len(whole)
	recipes := map[string]bool{}
	for _, p := range whole {
		recipes[p[0].Recipe] = true
		for _, t := range p {
			if t.Void {
				r.Void++
				r.WhyVoid = cmp.Or(r.WhyVoid, t.Reason)
				break
			}
		}
	}
	r.Recipes = append(r.Recipes, slices.Sorted(maps.Keys(recipes))...)
	r.Options.PairTime = r.Elapsed / time.Duration(max(r.Pairs, 1))
	r.Judged = Judge(whole, bugs, r.Options)
	r.Overall = r.overall()
}

// overall is the worst of the verdicts; nothing is known where nothing was compared.
func (r *Report) overall() paired.Verdict {
	for _, v := range []paired.Verdict{paired.Worse, paired.Better, paired.Undecided} {
		if r.Count(v) > 0 {
			return v
		}
	}
	if !r.Proved() {
		return paired.Undecided
	}
	return paired.Same
}

// streamFirst separates the draws of orders from others.
const streamFirst = 0x70666972

// each runs pairs in slots until the budget is used up, the context ends or done returns an error. done is called for one pair at a
// time, show at most every showEvery.
func (p *plan) each(ctx context.Context, slots int, run [2]runner.Executor, done func(int, pairOf) error, counter *counter,
	show func(pairs int, elapsed time.Duration),
) error {
	var mu sync.Mutex
	var failure error
	begun, next, ended := time.Now(), 0, 0
	shown := begun
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		over := p.pairs > 0 && uint64(next) >= p.pairs || p.time > 0 && time.Since(begun) >= p.time
		if failure != nil || ctx.Err() != nil || over {
			return 0, false
		}
		next++
		return next - 1, true
	}
	var group sync.WaitGroup
	for range slots {
		group.Go(func() {
			for i, ok := take(); ok; i, ok = take() {
				outcomes, err := p.pair(ctx, i, run)
				mu.Lock()
				result := pairOf{err: err, cut: err != nil && ctx.Err() != nil}
				if err == nil {
					result.trials = p.trials(i, outcomes, counter)
					ended++
				}
				failure = errors.Join(failure, done(i, result))
				if time.Since(shown) >= showEvery || ended == 1 {
					shown = time.Now()
					show(ended, time.Since(begun))
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return failure
}

// showEvery is how often progress is shown.
const showEvery = 10 * time.Second

// first is the side that runs first in a pair.
func (p *plan) first(i int) Side { return Side(splitmix.Draw(p.seed, streamFirst, uint64(i)) & 1) }

// pair runs the two trials of a pair.
func (p *plan) pair(ctx context.Context, i int, run [2]runner.Executor) (outcomes [2]*misstepv1.Outcome, err error) {
	recipes := p.recipes(uint64(i))
	for _, side := range []Side{p.first(i), 1 - p.first(i)} {
		if outcomes[side], err = run[side].Run(ctx, recipes[side], nil); err != nil {
			return outcomes, fmt.Errorf("%s (%s): %w", side, p.builds[side].JDK, err)
		}
	}
	return outcomes, nil
}

func (p *plan) trials(i int, outcomes [2]*misstepv1.Outcome, counter *counter) (trials [2]Trial) {
	recipes := p.recipes(uint64(i))
	for side, o := range outcomes {
		t := counter.trial(o)
		t.Pair, t.Side, t.First = i, Side(side), Side(side) == p.first(i)
		t.Recipe, t.Seed = describe(recipes[side]), recipes[side].GetSeed()
		trials[side] = t
	}
	return trials
}

// describe is what a recipe is in words, without its JDK and its seed.
func describe(r *misstepv1.Recipe) string {
	words := []string{r.GetWorkload().GetName()}
	words = append(words, r.GetWorkload().GetArguments()...)
	if r.GetFlagSet() != "" {
		words = append(words, r.GetFlagSet())
	}
	if p := r.GetPerturbation().GetStrategy(); p != "" && p != "none" {
		words = append(words, p)
	}
	return strings.Join(words, " ")
}
