package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"misstep/agent"
	"misstep/corpus"
	"misstep/corpus/localdir"
	"misstep/internal/sandbox"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/runner/jvm"
	"misstep/runner/perturb"
	"misstep/runner/recording"
	"misstep/workloads"
)

// nobody is the ordinary user that a guest's JVMs run as; only loading a scheduler requires root.
const nobody = 65534

// Main is the part in the guest: it runs the recipe of the job in the file path and writes the outcome with its evidence, or the
// infrastructure failure, to the folder evidence. The error means that neither could be written.
func Main(ctx context.Context, path, evidence string, perturbers []perturb.Perturber) error {
	j, err := readJob(path)
	if err != nil {
		return err
	}
	outcome, err := j.run(ctx, evidence, perturbers)
	if err != nil {
		return writeMessage(evidence, fileFailure, runner.FailureOf(err))
	}
	return writeMessage(evidence, fileOutcome, outcome)
}

func (j job) run(ctx context.Context, evidence string, perturbers []perturb.Perturber) (*misstepv1.Outcome, error) {
	recipe, err := j.recipe()
	if err != nil {
		return nil, err
	}
	recipe.Executor = ""
	scratch, err := os.MkdirTemp("", "misstep-trial-")
	if err != nil {
		return nil, fmt.Errorf("make scratch folder: %w", err)
	}
	if err := os.Chmod(scratch, 0o711); err != nil { // the JVM's user may traverse it
		return nil, fmt.Errorf("make scratch folder: %w", err)
	}
	store, err := localdir.New(filepath.Join(scratch, "blobs"))
	if err != nil {
		return nil, err
	}
	manifest, err := workloads.Load(j.Workload)
	if err != nil {
		return nil, err
	}
	var artefacts agent.Artefacts
	if j.Agent != "" {
		if artefacts, err = agent.Find(j.Agent); err != nil {
			return nil, err
		}
	}
	executor := &jvm.Executor{
		JDK: func(context.Context, *misstepv1.Jdk) (string, int, error) { return j.Jdk, j.Feature, nil },
		Workload: func(context.Context, *misstepv1.Workload) (string, workloads.Manifest, error) {
			return j.Workload, manifest, nil
		},
		Agent: artefacts, Recording: recording.Helper{Java: j.HelperJava, Jar: j.HelperJar}, Profilers: j.Profilers, Corpus: store,
		Scratch: filepath.Join(scratch, "trials"), PatchCache: j.Patches, Perturbers: perturbers,
	}
	if os.Getuid() == 0 {
		executor.Sandbox = sandbox.AsUser(nobody, nobody)
	}
	outcome, err := executor.Run(ctx, recipe, nil)
	if err != nil {
		return nil, err
	}
	return outcome, copyEvidence(ctx, store, outcome, filepath.Join(evidence, dirFiles))
}

// copyEvidence writes an outcome's evidence to the folder dir.
func copyEvidence(ctx context.Context, store corpus.Source, outcome *misstepv1.Outcome, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("copy evidence: %w", err)
	}
	for _, e := range outcome.GetEvidence() {
		digest, err := corpus.ParseDigest(e.GetDigest())
		if err != nil {
			return err
		}
		blob, _, err := store.Open(ctx, digest)
		if err != nil {
			return fmt.Errorf("copy evidence %s: %w", e.GetName(), err)
		}
		f, err := os.Create(filepath.Join(dir, e.GetName()))
		if err == nil {
			_, err = io.Copy(f, blob)
			err = errors.Join(err, f.Close())
		}
		if err = errors.Join(err, blob.Close()); err != nil {
			return fmt.Errorf("copy evidence %s: %w", e.GetName(), err)
		}
	}
	return nil
}
