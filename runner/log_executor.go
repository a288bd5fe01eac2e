package runner

import (
	"context"
	"errors"
	"log/slog"

	misstepv1 "misstep/proto/misstep/v1"
)

// Log returns an Executor that logs one line when a trial starts and one when it ends.
func Log(next Executor, logger *slog.Logger, clock Clock) Executor {
	return decorator{func(ctx context.Context, recipe *misstepv1.Recipe, progress ProgressFunc) (*misstepv1.Outcome, error) {
		digest, _ := misstepv1.RecipeDigest(recipe) // empty for an invalid recipe: logging must not fail
		trial := logger.With("recipe", digest, "jdk", recipe.GetJdk().GetName(), "workload", recipe.GetWorkload().GetName())
		trial.DebugContext(ctx, "trial starts")
		started := clock.Now()
		outcome, err := next.Run(ctx, recipe, progress)
		took := clock.Now().Sub(started)
		var panicked *PanicError
		switch {
		case err != nil && ctx.Err() != nil:
			trial.InfoContext(ctx, "trial cancelled", "took", took)
		case errors.As(err, &panicked):
			trial.ErrorContext(ctx, "trial panicked", "took", took, "error", err, "stack", string(panicked.Stack))
		case err != nil:
			trial.WarnContext(ctx, "trial ended with an infrastructure failure", "took", took, "error", err, "permanent",
				IsPermanent(err))
		default:
			trial.InfoContext(ctx, "trial ended",
				"took", took, "outcome", misstepv1.OutcomeName(outcome.GetKind()), "reason", outcome.GetReason())
		}
		return outcome, err
	}, next}
}
