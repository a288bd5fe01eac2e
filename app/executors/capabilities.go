package executors

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"misstep/bpf"
	"misstep/deploy/vm"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/guest"
)

// Capabilities of this machine besides running plain JVMs: recipes that need one are placed by them. home is the folder of the
// virtual machines' kernels.
func Capabilities(ctx context.Context, home string) (all []string) {
	if schedulerUsable(bpf.Supported()) {
		all = append(all, string(recipe.SchedExt))
	}
	return append(all, guest.Available(vm.Doctor(ctx, home))...)
}

// Offered returns what a runner offers of what its machine can do: all if nothing is asked for, nothing for "none". The error names
// what is asked for and cannot be had, with the remedy.
func Offered(asked, have []string) ([]string, error) {
	if len(asked) == 0 {
		return have, nil
	}
	if slices.Contains(asked, "none") {
		if len(asked) > 1 {
			return nil, errors.New("offer none: nothing can be offered beside none")
		}
		return nil, nil
	}
	for _, a := range asked {
		if remedies[recipe.Capability(a)] == "" {
			return nil, fmt.Errorf("offer %s: expected %s, %s, %s or none", a, recipe.SchedExt, recipe.VM, recipe.VMDeterministic)
		}
		if !slices.Contains(have, a) {
			return nil, fmt.Errorf("offer %s: this machine has none%s", a, Remedy(a))
		}
	}
	return asked, nil
}

// schedulerUsable reports, given the result of bpf.Supported, whether trials can use the kernel's scheduler: at once, or in
// their turn.
func schedulerUsable(supported error) bool {
	return supported == nil || errors.Is(supported, bpf.ErrTurn)
}

// CheckPlacement returns an error that names what a campaign needs and this machine lacks: a hunt has no other machine.
func CheckPlacement(ctx context.Context, home string, c *misstepv1.Campaign) error {
	perturb := c.GetPerturb()
	if len(perturb) == 0 {
		perturb = []*misstepv1.Perturbation{nil}
	}
	have := Capabilities(ctx, home)
	for _, p := range perturb {
		if need := recipe.NeededCapability(c.GetExecutor(), p); !need.MetBy(have) {
			return fmt.Errorf("campaign %s: this machine has no %s, which its trials need%s", c.GetName(), need,
				Remedy(string(need)))
		}
	}
	return nil
}

// Remedy says, in parentheses after a space, how to get a capability that a recipe needs and no runner has; empty when there is
// none.
func Remedy(capability string) string { return remedies[recipe.Capability(capability)] }

var remedies = map[recipe.Capability]string{
	recipe.SchedExt: " (start one as root on Linux 7.2 or newer with sched_ext, " +
		"or set executor: vm in the campaign, or mechanism: agent in perturb)",
	recipe.VM:              " (start one where `misstep vm doctor` finds everything for the shared mode)",
	recipe.VMDeterministic: " (start one where `misstep vm doctor` finds everything for the deterministic mode)",
}
