package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"misstep/agent"
	"misstep/bundle"
	"misstep/corpus/memory"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/jvm"
)

// writeBundle writes the bundle of a finding of a run.
func writeBundle(ctx context.Context, path string, finding *misstepv1.Finding, artefacts agent.Artefacts, of trialRun) (err error) {
	command, err := jvm.BundleCommand(of.recipe, of.workload.Path, of.manifest)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make a folder for bundles: %w", err)
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("make a bundle: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return bundle.Write(ctx, f, bundle.Contents{
		Reproducer: &misstepv1.Reproducer{Finding: finding, Recipe: of.recipe},
		Workload:   of.workload.Path, Agent: artefacts.Dir, Evidence: memory.New(), Command: command,
	})
}
