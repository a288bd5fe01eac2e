package jvm

import (
	"fmt"
	"path/filepath"

	"misstep/bundle"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/perturb"
	"misstep/workloads"
)

// BundleCommand says how a bundle's run.sh starts the JVM: as the executor does, with placeholders for folders. workload is the folder of the recipe's.
func BundleCommand(recipe *misstepv1.Recipe, workload string, manifest workloads.Manifest) (bundle.Command, error) {
	invocation, err := manifest.Invocation(workload, recipe.GetWorkload(), bundle.Scratch)
	if err != nil {
		return bundle.Command{}, err
	}
	scratch, err := filepath.Abs(bundle.Scratch) // as Invocation made it
	if err != nil {
		return bundle.Command{}, fmt.Errorf("place of %s: %w", bundle.Scratch, err)
	}
	command := bundle.Command{
		JVMFlags:   Flags(recipe, invocation),
		Only:       recipe.GetInstrumentation().GetOnly(),
		Invocation: bundle.Relocate(invocation.Args, workload, scratch),
		Wall:       Wall(recipe),
		MinFeature: manifest.MinFeature,
	}
	if len(recipe.GetChecks()) > 0 {
		options := AgentOptions(recipe, bundle.Out)
		command.AgentOptions, command.Instruments = options.String(), options.NeedsMethods()
		if p := perturb.Of(recipe); p != nil {
			if command.Plan, err = perturb.Plan(p); err != nil {
				return bundle.Command{}, err
			}
		}
	}
	return command, nil
}
