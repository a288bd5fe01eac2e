package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"misstep/app/station"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
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
	var rows [][]string
	profiled := false
	for _, trial := range trials {
		r, o := trial.GetRecipe(), trial.GetOutcome()
		outcome := misstepv1.OutcomeName(o.GetKind())
		if o == nil {
			outcome = "given up: " + trial.GetFailure().GetMessage()
		} else if provesNothing(o.GetKind()) {
			outcome += ": " + o.GetReason()
		}
		rows = append(rows, []string{
			strconv.FormatUint(trial.GetId(), 10), r.GetJdk().GetName(), r.GetWorkload().GetName(), r.GetFlagSet(),
			recipe.ProfilerText(r.GetProfiler()), outcome,
			o.GetWall().AsDuration().Round(time.Millisecond).String(), inForce(o.GetPerturbation()),
			counts(o.GetPerturbation().GetApplied()), few(trial.GetFindingIds()),
		})
		profiled = profiled || recipe.HasProfiler(r.GetProfiler())
	}
	columns := []column{
		{title: "trial"},
		{title: "jdk"},
		{title: "workload"},
		{title: "flags", drop: 1},
		{title: profilerColumn, cut: 14, drop: 2},
		{title: "outcome", cut: 10},
		{title: "wall", drop: 3},
		{title: "perturbation", cut: 14, drop: 2},
		{title: "applied", cut: 10, drop: 4},
		{title: "findings"},
	}
	if !profiled {
		columns, rows = withoutColumn(profilerColumn, columns, rows)
	}
	renderTable(e.stdout, columns, rows)
	return nil
}

const profilerColumn = "profiler"

// withoutColumn returns a table without the column of that title.
func withoutColumn(title string, columns []column, rows [][]string) ([]column, [][]string) {
	i := slices.IndexFunc(columns, func(c column) bool { return c.title == title })
	for k, row := range rows {
		rows[k] = slices.Delete(row, i, i+1)
	}
	return slices.Delete(columns, i, i+1), rows
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
