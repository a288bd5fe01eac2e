package reproduction

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"misstep/app/executors"
	"misstep/app/station"
	"misstep/coordinator/campaign"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// DefaultPerturbation is what amplifying tries when no perturbation is named: it requires neither a special kernel nor root. The
// coordinator omits it where it cannot be applied.
const DefaultPerturbation = "chaos@" + misstepv1.MechanismAgent

// perturbations parses names of the form STRATEGY or STRATEGY@MECHANISM.
func perturbations(names []string) ([]*misstepv1.Perturbation, error) {
	if len(names) == 0 {
		names = []string{DefaultPerturbation}
	}
	var all []*misstepv1.Perturbation
	known := station.Strategies()
	for _, name := range names {
		strategy, mechanism, _ := strings.Cut(name, "@")
		switch {
		case !slices.ContainsFunc(known, func(s campaign.Strategy) bool { return s.Name == strategy }):
			return nil, fmt.Errorf("%s: unknown strategy %q; see `misstep sched strategies`", name, strategy)
		case !slices.Contains([]string{"", misstepv1.MechanismScheduler, misstepv1.MechanismAgent}, mechanism):
			return nil, fmt.Errorf("%s: unknown mechanism %q; expected %s or %s",
				name, mechanism, misstepv1.MechanismScheduler, misstepv1.MechanismAgent)
		case strategy != misstepv1.StrategyNone:
			all = append(all, &misstepv1.Perturbation{Strategy: strategy, Mechanism: mechanism})
		}
	}
	return all, nil
}

// checkPerturbations refuses perturbations that the recipe or this machine does not support, unless a reproduction is under
// way, which keeps its own.
func checkPerturbations(
	ctx context.Context, st *station.Station, home string, request *misstepv1.StartReproductionRequest, recipe *misstepv1.Recipe,
) error {
	unfinished, err := Unfinished(ctx, st, 0)
	if err != nil || slices.Contains(unfinished, request.GetFindingId()) {
		return err
	}
	have := []string{misstepv1.MechanismScheduler} // a remote coordinator itself reports that no runner has it
	if !st.Remote {
		have = executors.Capabilities(ctx, home)
	}
	return unsupported(request.GetPerturbations(), recipe, have)
}

// unsupported returns an error that names the first perturbation that trials of a recipe cannot have on a machine with these
// capabilities.
func unsupported(all []*misstepv1.Perturbation, r *misstepv1.Recipe, have []string) error {
	for _, p := range all {
		need := recipe.NeededCapability(r.GetExecutor(), p)
		if need == recipe.SchedExt && !need.MetBy(have) {
			return fmt.Errorf("%s: this machine has no %s; %s@%s perturbs at the agent's instrumentation points",
				p.GetStrategy(), need, p.GetStrategy(), misstepv1.MechanismAgent)
		}
		if !recipe.CanPerturb(r, p) {
			return fmt.Errorf("%s@%s: the finding's recipe has no checks or instruments no methods, so the agent has no points to "+
				"perturb at", p.GetStrategy(), p.GetMechanism())
		}
	}
	return nil
}
