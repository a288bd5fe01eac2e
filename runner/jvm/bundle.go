package jvm

import (
	"fmt"
	"os"
	"path/filepath"

	"misstep/agent"
	"misstep/bundle"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/perturb"
	"misstep/runner/profiler"
	"misstep/workloads"
)

// BundleCommand returns the command by which a bundle's run.sh starts the JVM: the executor's, with placeholders for folders.
// workload is the folder of the recipe's workload.
func BundleCommand(r *misstepv1.Recipe, workload string, manifest workloads.Manifest) (bundle.Command, error) {
	invocation, err := manifest.Invocation(workload, r.GetWorkload(), bundle.Scratch)
	if err != nil {
		return bundle.Command{}, err
	}
	command, err := BundleCommandOf(r, invocation)
	if err != nil {
		return bundle.Command{}, err
	}
	scratch, err := filepath.Abs(bundle.Scratch) // as Invocation made it
	if err != nil {
		return bundle.Command{}, fmt.Errorf("absolute path of %s: %w", bundle.Scratch, err)
	}
	command.Invocation = bundle.Relocate(invocation.Args, workload, scratch)
	command.MinFeature, command.ExitCode = manifest.MinFeature, manifest.ExitCode
	return command, nil
}

// BundleCommandOf is BundleCommand for an invocation that has the placeholders already.
func BundleCommandOf(r *misstepv1.Recipe, invocation workloads.Invocation) (command bundle.Command, err error) {
	command = bundle.Command{
		JVMFlags: flags(r, invocation), Only: r.GetInstrumentation().GetOnly(), Invocation: invocation.Args, Wall: recipe.Wall(r),
	}
	if err := bundleProfiler(r, &command); err != nil {
		return bundle.Command{}, err
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

// bundleProfiler adds the flags of a recipe's profiler.
func bundleProfiler(r *misstepv1.Recipe, command *bundle.Command) error {
	p, err := profiler.Of(r)
	if p == nil || err != nil {
		return err
	}
	command.ProfilerFlags, err = p.Arguments(profiler.SettingsOf(r), profiler.Place{
		Out: bundle.Out, Files: bundle.Profiler, Library: bundle.Profiler + "/" + p.Library(),
	})
	return err
}

// BundleProfiler writes the files of a recipe's profiler to the folder dir, for a bundle; libraries is the folder of the profilers'
// libraries. It reports false, and writes nothing, without a profiler.
func BundleProfiler(r *misstepv1.Recipe, libraries, dir string) (bool, error) {
	p, err := profiler.Of(r)
	if p == nil || err != nil {
		return false, err
	}
	files, err := p.Files(profiler.SettingsOf(r))
	if err != nil {
		return false, err
	}
	if p.Library() != "" {
		if files == nil {
			files = map[string][]byte{}
		}
		if files[p.Library()], err = os.ReadFile(filepath.Join(libraries, p.Library())); err != nil {
			return false, fmt.Errorf("the bundle needs the profiler %s: %w; fetch it with `make profilers`", p.Name(), err)
		}
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return false, fmt.Errorf("write the files of the profiler %s: %w", p.Name(), err)
		}
	}
	return true, nil
}
