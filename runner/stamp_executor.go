package runner

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	misstepv1 "misstep/proto/misstep/v1"
)

// Stamp makes an Executor whose outcomes say when, where and by which recipe they came about. What next filled in itself (it
// knows better when the JVM started) stays.
func Stamp(next Executor, clock Clock, host string) Executor {
	return around{func(ctx context.Context, recipe *misstepv1.Recipe, progress ProgressFunc) (*misstepv1.Outcome, error) {
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
