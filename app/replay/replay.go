package replay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"misstep/app"
	"misstep/app/executors"
	"misstep/app/local"
	"misstep/bundle"
	"misstep/corpus/memory"
	"misstep/deploy/vm"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/guest"
	"misstep/runner/jvm"
)

// Options of a replay.
type Options struct {
	JDK   string // as for Prepare
	Tries uint32
	// Executor to run on instead of the recipe's; empty keeps it.
	Executor string
	// Record is a new folder for a recording of the first try that reproduces; empty records none.
	Record string
	Say    app.Say
	// Logger takes the warnings of virtual machines.
	Logger *slog.Logger
}

// Result of a replay.
type Result struct {
	Bundle  string `json:"bundle"`
	Finding string `json:"finding"`
	JDK     string `json:"jdk"`
	Tally
	Low        float64 `json:"low"` // of the 95 % Wilson interval of hits/tries
	High       float64 `json:"high"`
	Reproduced bool    `json:"reproduced"`
	// SameSchedule counts tries whose threads were perturbed by the very decisions of the bundle's schedule.log, byte for byte;
	// nil when there is nothing to compare, or the machine's time was not virtual.
	SameSchedule *int `json:"same_schedule,omitempty"`
}

func newResult(b *bundle.Bundle) *Result {
	r := b.Reproducer()
	return &Result{
		Finding: r.GetFinding().GetId(), JDK: r.GetRecipe().GetJdk().GetVersion(),
		Tally: Tally{Others: map[string]int{}},
	}
}

func (r *Result) finish() *Result {
	r.Low, r.High = r.Interval()
	r.Reproduced = r.Hits > 0
	return r
}

// Recorded repeats the machine that a bundle carries, instruction by instruction. gdb is an address at which qemu waits for a
// debugger before the first instruction, or empty.
func Recorded(ctx context.Context, b *bundle.Bundle, gdb string, say app.Say) (*Result, error) {
	if len(b.Reproducer().GetRecording()) == 0 {
		return nil, errors.New("this bundle carries no recording; replay it without --recording")
	}
	scratch, remove, err := executors.Scratch("misstep-replay-")
	if err != nil {
		return nil, err
	}
	defer remove()
	dir := filepath.Join(scratch, "bundle")
	if err := b.Extract(dir); err != nil {
		return nil, err
	}
	outcome, err := guest.Replay(ctx, filepath.Join(dir, bundle.Recording), memory.New(), vm.ReplayConfig{
		Debug: gdb, Log: func(format string, args ...any) { say("vm: "+format, args...) },
	})
	if err != nil {
		return nil, err
	}
	result := newResult(b)
	result.Count(outcome, Shows(b.Reproducer().GetFinding()))
	return result.finish(), nil
}

// Run runs a bundle's recipe as often as Options asks.
func Run(ctx context.Context, i local.Installation, b *bundle.Bundle, o Options) (*Result, error) {
	scratch, remove, err := executors.Scratch("misstep-replay-")
	if err != nil {
		return nil, err
	}
	defer remove()
	ready, err := Prepare(ctx, i, b, o.JDK, scratch)
	if err != nil {
		return nil, err
	}
	if o.Executor != "" {
		ready.Recipe.Executor = o.Executor
	}
	result := newResult(b)
	result.JDK = ready.Version
	schedule := comparableSchedule(b.Reproducer(), ready.Recipe)
	if schedule != "" {
		result.SameSchedule = new(int)
	}
	shown := Shows(b.Reproducer().GetFinding())
	recorder := &recorder{host: ready.Host, home: i.Home, scratch: scratch, keep: o.Record, say: o.Say, logger: o.Logger}
	for try := range o.Tries {
		executor, err := recorder.next()
		if err != nil {
			return nil, err
		}
		outcome, err := executor.Run(ctx, withSeed(b.Reproducer(), ready.Recipe, try), nil)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %s, of %d tries asked for", app.ErrInterrupted, result.SoFar(result.Finding), o.Tries)
		}
		if err != nil {
			return nil, fmt.Errorf("try %d: %w", try+1, err)
		}
		hit, text := result.tried(outcome, shown)
		if schedule != "" && scheduleOf(outcome.GetEvidence()) == schedule {
			*result.SameSchedule++
			text += ", by the same decisions as in the bundle's " + jvm.FileSchedule
		}
		o.Say("try %d of %d: %s; %d of %d so far", try+1, o.Tries, text, result.Hits, result.Tries)
		if hit {
			if err := recorder.hit(); err != nil {
				return nil, err
			}
		}
	}
	return result.finish(), nil
}

// comparableSchedule is the digest of the bundle's schedule log where tries can take the same decisions: in virtual time with the
// same seed. Empty elsewhere.
func comparableSchedule(r *misstepv1.Reproducer, recipe *misstepv1.Recipe) string {
	if recipe.GetExecutor() != guest.Deterministic || bundle.FreshSeeds(r) {
		return ""
	}
	return scheduleOf(r.GetEvidence())
}

// scheduleOf returns the digest of the schedule log among evidence, or an empty string.
func scheduleOf(evidence []*misstepv1.Evidence) string {
	for _, x := range evidence {
		if x.GetName() == jvm.FileSchedule {
			return x.GetDigest()
		}
	}
	return ""
}
