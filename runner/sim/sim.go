// Package sim is an executor without a JVM: it draws outcomes by seeded rates, so that the whole pipeline runs on a laptop.
//
// The outcome of a recipe depends only on the script's seed and the recipe, not on order, time or runner: a replay has the same
// outcome. With Fresh, each run of a recipe draws anew, as with real races.
package sim

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
)

// Event is one way in which a trial can end.
type Event struct {
	// Rate is the share of trials that end in this event, in [0, 1].
	Rate float64
	// Applies restricts the event to some recipes; nil means all. Rate is then a share of their trials.
	Applies func(*misstepv1.Recipe) bool
	// Outcome makes the outcome; counts, times and identity are filled in. Nil means an infrastructure failure.
	Outcome func(*misstepv1.Recipe, *rand.Rand) *misstepv1.Outcome
}

// Script defines a simulated machine.
type Script struct {
	// Seed of all draws.
	Seed uint64
	// Duration is the mean of the trials' durations, which are exponentially distributed, at most ten times the mean; 0 means that
	// trials take no time.
	Duration time.Duration
	// Events in the order in which they are drawn; a trial without an event is clean. Their rates add up to at most 1.
	Events []Event
	// Fresh draws anew each time a recipe is run.
	Fresh bool
	// Checks is the number of samples of each check in a trial, a tenth of the number of signals; 0 means 1,000.
	Checks uint64
}

// ErrInfrastructure is the error of simulated infrastructure failures.
var ErrInfrastructure = errors.New("simulated failure of the infrastructure")

// Executor runs a script on a clock; it is a runner.Executor.
type Executor struct {
	script Script
	clock  runner.Clock
	runs   atomic.Uint64
}

// New validates the script and returns its executor.
func New(script Script, clock runner.Clock) (*Executor, error) {
	sum := 0.0
	for i, e := range script.Events {
		if math.IsNaN(e.Rate) || e.Rate < 0 || e.Rate > 1 {
			return nil, fmt.Errorf("make simulation: event %d: rate %v is not in [0, 1]", i, e.Rate)
		}
		sum += e.Rate
	}
	if sum > 1+1e-9 {
		return nil, fmt.Errorf("make simulation: the rates of the events add up to %v, more than 1", sum)
	}
	if script.Checks == 0 {
		script.Checks = 1000
	}
	return &Executor{script: script, clock: clock}, nil
}

// Run draws the outcome of the recipe; see runner.Executor.
func (e *Executor) Run(
	ctx context.Context, recipe *misstepv1.Recipe, progress func(*misstepv1.Progress),
) (*misstepv1.Outcome, error) {
	run := e.runs.Add(1)
	if !e.script.Fresh {
		run = 0
	}
	digest, err := misstepv1.RecipeDigest(recipe)
	if err != nil {
		return nil, runner.Permanent(err)
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(digest)) // never fails
	random := rand.New(rand.NewPCG(e.script.Seed, h.Sum64()^run*0x9e3779b97f4a7c15))
	started := e.clock.Now()
	duration := time.Duration(min(10, random.ExpFloat64()) * float64(e.script.Duration))
	if progress != nil {
		progress(&misstepv1.Progress{Phase: "run", Checks: e.checks(recipe, 0), Signals: e.signals(recipe)})
	}
	if duration > 0 {
		ended, release := e.clock.After(duration)
		defer release()
		select {
		case <-ended:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	outcome := &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN}
	for left, i := random.Float64(), 0; i < len(e.script.Events); i++ {
		event := e.script.Events[i]
		if event.Applies != nil && !event.Applies(recipe) {
			continue
		}
		if left -= event.Rate; left < 0 {
			if event.Outcome == nil {
				return nil, ErrInfrastructure
			}
			outcome = event.Outcome(recipe, random)
			break
		}
	}
	var mismatches uint64
	for _, m := range outcome.GetMismatches() {
		mismatches += m.GetCount()
	}
	if outcome.GetChecks() == nil && outcome.GetKind() != misstepv1.OutcomeKind_OUTCOME_KIND_VOID {
		outcome.Checks, outcome.Signals = e.checks(recipe, mismatches), e.signals(recipe)
	}
	outcome.RecipeDigest = digest
	outcome.Started = timestamppb.New(started)
	outcome.Wall = durationpb.New(duration)
	outcome.Cpu = durationpb.New(duration)
	return outcome, nil
}

// checks returns the counts of the recipe's checks, all mismatches with the first one; verdicts add up to totals.
func (e *Executor) checks(recipe *misstepv1.Recipe, mismatches uint64) []*misstepv1.CheckCount {
	var counts []*misstepv1.CheckCount
	for i, check := range recipe.GetChecks() {
		count := &misstepv1.CheckCount{Check: check.GetName(), Total: e.script.Checks, Match: e.script.Checks}
		if i == 0 {
			count.Mismatch = mismatches
			count.Total += mismatches
		}
		counts = append(counts, count)
	}
	return counts
}

func (e *Executor) signals(recipe *misstepv1.Recipe) *misstepv1.SignalCount {
	if recipe.GetSampling().GetInterval().AsDuration() <= 0 {
		return &misstepv1.SignalCount{}
	}
	n := 10 * e.script.Checks
	return &misstepv1.SignalCount{Sent: n, Delivered: n, Answered: n}
}
