package runner

import (
	"context"
	"errors"
	"log/slog"

	misstepv1 "misstep/proto/misstep/v1"
)

// Log makes an Executor that writes one line when a trial starts and one when it ends.
func Log(next Executor, logger *slog.Logger, clock Clock) Executor {
	return around{func(ctx context.Context, recipe *misstepv1.Recipe, progress ProgressFunc) (*misstepv1.Outcome, error) {
		digest, _ := misstepv1.RecipeDigest(recipe) // empty when it has none: a log line is no place to fail
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
			trial.WarnContext(ctx, "trial failed on the infrastructure", "took", took, "error", err, "permanent", IsPermanent(err))
		default:
			trial.InfoContext(ctx, "trial ended",
				"took", took, "outcome", misstepv1.OutcomeName(outcome.GetKind()), "reason", outcome.GetReason())
		}
		return outcome, err
	}, next}
}
