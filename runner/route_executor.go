package runner

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
)

// Host is the executor of recipes that name none.
const Host = "host"

// Route returns an Executor that delegates each recipe to the executor that the recipe names. It is ready when all are.
func Route(executors map[string]Executor) Executor { return route(executors) }

type route map[string]Executor

// Run implements Executor.
func (r route) Run(ctx context.Context, recipe *misstepv1.Recipe, progress ProgressFunc) (*misstepv1.Outcome, error) {
	name := recipe.GetExecutor()
	if name == "" {
		name = Host
	}
	next, ok := r[name]
	if !ok {
		return nil, Permanent(fmt.Errorf("run recipe: there is no executor %q; there are %s", name,
			strings.Join(slices.Sorted(maps.Keys(r)), ", ")))
	}
	return next.Run(ctx, recipe, progress)
}

// CheckReadiness implements ReadinessChecker.
func (r route) CheckReadiness(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(r)) {
		if err := CheckReadiness(ctx, r[name]); err != nil {
			return fmt.Errorf("executor %s: %w", name, err)
		}
	}
	return nil
}
