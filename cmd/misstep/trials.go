package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"misstep/app/station"
	misstepv1 "misstep/proto/misstep/v1"
)

type campaignTrials struct {
	coordinatorFlags
	ID   string `arg:"" help:"Campaign id or a prefix of it."`
	JSON bool   `help:"Print a list of trials."`
}

// Run lists a campaign's finished trials with the perturbation that was in force and what it did.
func (c *campaignTrials) Run(ctx context.Context, e *env) error {
	st, err := c.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	trials, err := station.Trials(ctx, st, c.ID)
	if err != nil {
		return err
	}
	if c.JSON {
		return e.json(raws(trials))
	}
	t := table(e.stdout)
	fmt.Fprintln(t, "trial\tjdk\tworkload\tflags\toutcome\twall\tperturbation\tapplied\tfindings")
	for _, trial := range trials {
		r, o := trial.GetRecipe(), trial.GetOutcome()
		outcome := misstepv1.OutcomeName(o.GetKind())
		if o == nil {
			outcome = "given up: " + trial.GetFailure().GetMessage()
		} else if provesNothing(o.GetKind()) {
			outcome += ": " + o.GetReason()
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%v\t%s\t%s\t%s\n",
			trial.GetId(), r.GetJdk().GetName(), r.GetWorkload().GetName(), r.GetFlagSet(), outcome,
			o.GetWall().AsDuration().Round(time.Millisecond), inForce(o.GetPerturbation()),
			counts(o.GetPerturbation().GetApplied()),
			strings.Join(trial.GetFindingIds(), " "))
	}
	return t.Flush()
}

// provesNothing reports whether an outcome's reason says why the trial proved nothing.
func provesNothing(kind misstepv1.OutcomeKind) bool {
	return kind == misstepv1.OutcomeKind_OUTCOME_KIND_VOID || kind == misstepv1.OutcomeKind_OUTCOME_KIND_APPLICATION_FAILURE
}

// inForce is a perturbation in a few words.
func inForce(p *misstepv1.PerturbationReport) string {
	switch {
	case p == nil:
		return "-"
	case p.GetMechanism() == "":
		return p.GetStrategy()
	}
	words := []string{p.GetStrategy()}
	for _, name := range slices.Sorted(maps.Keys(p.GetParameters())) {
		words = append(words, fmt.Sprintf("%s=%.6g", name, p.GetParameters()[name]))
	}
	return fmt.Sprintf("%s, seed %d, by %s", strings.Join(words, " "), p.GetSeed(), p.GetMechanism())
}
