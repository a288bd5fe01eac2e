// Package executors assembles what runs trials on this machine: real JVMs on the host or in virtual machines, and runners of them.
package executors

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"misstep/app/local"
	"misstep/corpus"
	"misstep/runner"
	"misstep/runner/guest"
	"misstep/runner/jvm"
	"misstep/runner/perturb"
	"misstep/runner/scratch"
)

// Host makes the executor of real JVMs on this machine, with JDKs and workloads from the local catalogues, else from blobs.
func Host(i local.Installation, blobs corpus.Store, trials string) (*jvm.Executor, error) {
	artefacts, err := i.Agent()
	if err != nil {
		return nil, err
	}
	provider := i.Provider(blobs)
	helper, err := i.RecordingHelper()
	if err != nil && !errors.Is(err, local.ErrNoHelper) { // without it, recipes that need it are refused
		return nil, err
	}
	return &jvm.Executor{
		JDK:        provider.JDK,
		Workload:   provider.Workload,
		Agent:      artefacts,
		Recording:  helper,
		Profilers:  i.Profilers(),
		Corpus:     blobs,
		Scratch:    trials,
		PatchCache: i.PatchCache(),
		Perturbers: Perturbers(),
	}, nil
}

// Perturbers are the mechanisms that can perturb trials on this host.
func Perturbers() []perturb.Perturber {
	return []perturb.Perturber{perturb.Scheduler{}, perturb.Agent{}}
}

// Route gives each recipe to the executor that it names: host itself, or a virtual machine with host's files. home is the folder
// of the machines' kernels. record is a new folder for a recording of the machine, or empty.
func Route(host *jvm.Executor, home, record string, logger *slog.Logger) (runner.Executor, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this binary: %w", err)
	}
	inMachines := &guest.Executor{
		JDK: host.JDK, Workload: host.Workload, Agent: host.Agent, Recording: host.Recording, Profilers: host.Profilers,
		Corpus: host.Corpus, Scratch: machines(host.Scratch),
		PatchCache: host.PatchCache, Home: home, Program: program, Command: []string{"trial"}, Record: record, Logger: logger,
	}
	var onHost runner.Executor = host
	if record != "" {
		onHost = inMachines // refuses: a host cannot be recorded
	}
	return runner.Route(map[string]runner.Executor{
		runner.Host: onHost, guest.Shared: inMachines, guest.Deterministic: inMachines,
	}), nil
}

// machines is the folder of the trials in virtual machines, below that of all trials.
func machines(trials string) string { return filepath.Join(trials, "machines") }

// Scratch makes a temporary folder that JVMs of another user can pass through; remove deletes it.
func Scratch(pattern string) (dir string, remove func(), err error) {
	if dir, err = os.MkdirTemp("", pattern); err != nil {
		return "", nil, fmt.Errorf("make scratch folder: %w", err)
	}
	remove = func() { _ = scratch.RemoveAll(dir) }
	if err := os.Chmod(dir, 0o711); err != nil {
		remove()
		return "", nil, fmt.Errorf("make scratch folder: %w", err)
	}
	return dir, remove, nil
}
