package runner

import (
	"context"
	"maps"
	"sync"

	misstepv1 "misstep/proto/misstep/v1"
)

// Counts of a runner's trials since it started, for /metrics, logs and tests. Every trial that was started is in exactly one of
// Running, Failed, Cancelled and Outcomes. Safe for concurrent use; the zero value is ready.
type Counts struct {
	mu     sync.Mutex
	totals Totals
}

// Totals is a snapshot of Counts.
type Totals struct {
	// Started trials.
	Started uint64
	// Running trials now.
	Running uint64
	// Failed trials: the infrastructure failed.
	Failed uint64
	// Cancelled trials: their context ended.
	Cancelled uint64
	// Outcomes by kind.
	Outcomes map[misstepv1.OutcomeKind]uint64
}

// Totals returns a snapshot of the counts.
func (c *Counts) Totals() Totals {
	c.mu.Lock()
	defer c.mu.Unlock()
	totals := c.totals
	totals.Outcomes = maps.Clone(totals.Outcomes)
	return totals
}

// Count returns an Executor that counts the trials of next in counts.
func Count(next Executor, counts *Counts) Executor {
	return decorator{func(ctx context.Context, recipe *misstepv1.Recipe, progress ProgressFunc) (*misstepv1.Outcome, error) {
		counts.mu.Lock()
		counts.totals.Started++
		counts.totals.Running++
		counts.mu.Unlock()
		outcome, err := next.Run(ctx, recipe, progress)
		counts.mu.Lock()
		defer counts.mu.Unlock()
		counts.totals.Running--
		switch {
		case err != nil && ctx.Err() != nil:
			counts.totals.Cancelled++
		case err != nil:
			counts.totals.Failed++
		default:
			if counts.totals.Outcomes == nil {
				counts.totals.Outcomes = map[misstepv1.OutcomeKind]uint64{}
			}
			counts.totals.Outcomes[outcome.GetKind()]++
		}
		return outcome, err
	}, next}
}
