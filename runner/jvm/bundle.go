package jvm

import (
	"fmt"
	"path/filepath"

	"misstep/agent"
	"misstep/bundle"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/perturb"
	"misstep/workloads"
)

// BundleCommand returns the command by which a bundle's run.sh starts the JVM: the executor's, with placeholders for folders.
// workload is the folder of the recipe's workload.
func BundleCommand(r *misstepv1.Recipe, workload string, manifest workloads.Manifest) (bundle.Command, error) {
	invocation, err := manifest.Invocation(workload, r.GetWorkload(), bundle.Scratch)
	if err != nil {
		return bundle.Command{}, err
	}
	scratch, err := filepath.Abs(bundle.Scratch) // as Invocation made it
	if err != nil {
		return bundle.Command{}, fmt.Errorf("absolute path of %s: %w", bundle.Scratch, err)
	}
	command := bundle.Command{
		JVMFlags:   flags(r, invocation),
		Only:       r.GetInstrumentation().GetOnly(),
		Invocation: bundle.Relocate(invocation.Args, workload, scratch),
		Wall:       recipe.Wall(r),
		MinFeature: manifest.MinFeature,
	}
	if recipe.NeedsAgent(r.GetChecks()) {
		options := agent.OptionsOf(r, bundle.Out)
		command.AgentOptions, command.Instruments = options.String(), options.NeedsMethods()
		if p := perturb.Of(r); p != nil {
			if command.Plan, err = perturb.Plan(p); err != nil {
				return bundle.Command{}, err
			}
		}
	}
	return command, nil
}
