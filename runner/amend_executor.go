package runner

import (
	"context"

	misstepv1 "misstep/proto/misstep/v1"
)

// Amend returns an Executor that changes each outcome of next.
func Amend(next Executor, amend func(*misstepv1.Outcome)) Executor {
	return decorator{func(ctx context.Context, recipe *misstepv1.Recipe, progress ProgressFunc) (*misstepv1.Outcome, error) {
		outcome, err := next.Run(ctx, recipe, progress)
		if outcome != nil {
			amend(outcome)
		}
		return outcome, err
	}, next}
}
