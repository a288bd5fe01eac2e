package runner

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
)

// Host is the executor that a recipe means when it names none.
const Host = "host"

// Route makes an Executor that hands each recipe to the one that the recipe names.
func Route(executors map[string]Executor) Executor {
	return ExecutorFunc(func(ctx context.Context, recipe *misstepv1.Recipe, progress func(*misstepv1.Progress)) (*misstepv1.Outcome, error) {
		name := recipe.GetExecutor()
		if name == "" {
			name = Host
		}
		next, ok := executors[name]
		if !ok {
			return nil, Permanent(fmt.Errorf("run recipe: there is no executor %q; there are %s", name,
				strings.Join(slices.Sorted(maps.Keys(executors)), ", ")))
		}
		return next.Run(ctx, recipe, progress)
	})
}
