package runner

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	misstepv1 "misstep/proto/misstep/v1"
)

// Stamp returns an Executor that fills in each outcome's start time, wall time, host and recipe digest. Fields that next has set
// already are kept: it has the exact start of the JVM.
func Stamp(next Executor, clock Clock, host string) Executor {
	return decorator{func(ctx context.Context, recipe *misstepv1.Recipe, progress ProgressFunc) (*misstepv1.Outcome, error) {
		digest, err := misstepv1.RecipeDigest(recipe)
		if err != nil {
			return nil, Permanent(fmt.Errorf("identify recipe: %w", err))
		}
		started := clock.Now()
		outcome, err := next.Run(ctx, recipe, progress)
		if outcome == nil {
			return outcome, err
		}
		if outcome.GetStarted() == nil {
			outcome.Started = timestamppb.New(started)
		}
		if outcome.GetWall() == nil {
			outcome.Wall = durationpb.New(clock.Now().Sub(started))
		}
		if outcome.GetHost() == "" {
			outcome.Host = host
		}
		if outcome.GetRecipeDigest() == "" {
			outcome.RecipeDigest = digest
		}
		return outcome, err
	}, next}
}
