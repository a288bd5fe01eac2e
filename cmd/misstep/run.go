package main

import (
	"context"

	"github.com/alecthomas/kong"

	"misstep/app"
	"misstep/app/executors"
	"misstep/app/submission"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

type runCommand struct {
	Recipe   string       `arg:"" help:"Recipe in YAML." type:"path" placeholder:"RECIPE.yaml"`
	Evidence string       `help:"Save the evidence in this folder." type:"path" placeholder:"DIR"`
	Record   string       `help:"Record the whole machine into this new folder, for misstep vm replay (executor vm-deterministic)." type:"path" placeholder:"DIR"`
	Profiler profilerFlag `help:"Run with this profiler in place of the recipe's: none, jfr or async-profiler, then the interval between samples and options if there are any, as in jfr,1ms or async-profiler,1ms,cstack=vmx." placeholder:"NAME[,INTERVAL][,OPTION]…" predictor:"profiler"`
	JSON     bool         `help:"Print the outcome as JSON."`
}

// profilerFlag is a profiler as recipe.ParseProfiler reads it, nil without the flag.
type profilerFlag struct{ *misstepv1.Profiler }

// Decode implements kong.MapperValue.
func (f *profilerFlag) Decode(ctx *kong.DecodeContext) (err error) {
	text := ""
	if next := ctx.Scan.Peek(); next.IsValue() {
		text = next.String()
		ctx.Scan.Pop()
	}
	f.Profiler, err = recipe.ParseProfiler(text)
	return err
}

// Run executes one recipe without a coordinator.
func (c *runCommand) Run(ctx context.Context, e *env) error {
	r, err := submission.LoadRecipe(e.installation(), c.Recipe, c.Profiler.Profiler)
	if err != nil {
		return err
	}
	once := executors.Once{Recipe: r, Evidence: c.Evidence, Record: c.Record}
	outcome, stderr, err := once.Run(ctx, e.installation(), e.warnings())
	if err != nil {
		return err
	}
	if c.JSON {
		if err := e.json(outcome); err != nil {
			return err
		}
		renderStderr(e.stderr, stderr)
	} else {
		renderOutcome(e.stdout, r, outcome, func(m *misstepv1.Mismatch) string { return app.KnownAs(m, r.GetJdk()) })
		renderStderr(e.stdout, stderr)
	}
	if code := outcomeCode(outcome.GetKind()); code != exitOK {
		return &exitError{code: code}
	}
	return nil
}

func outcomeCode(kind misstepv1.OutcomeKind) int {
	switch kind {
	case misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN:
		return exitOK
	case misstepv1.OutcomeKind_OUTCOME_KIND_APPLICATION_FAILURE:
		return exitAppFailed
	case misstepv1.OutcomeKind_OUTCOME_KIND_VOID:
		return exitVoid
	default:
		return exitFound
	}
}
