package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"buf.build/go/protoyaml"

	"misstep/corpus"
	"misstep/corpus/localdir"
	"misstep/corpus/memory"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

type runCommand struct {
	Recipe   string `arg:"" help:"Recipe in YAML." type:"path" placeholder:"RECIPE.yaml"`
	Evidence string `help:"Keep the evidence in this folder." type:"path" placeholder:"DIR"`
	Record   string `help:"Record the whole machine into this new folder, for misstep vm replay; executor vm-deterministic." type:"path" placeholder:"DIR"`
	JSON     bool   `help:"Print the outcome as JSON."`
}

// Run executes one recipe without a coordinator.
func (c *runCommand) Run(ctx context.Context, e *env) error {
	recipe, err := e.loadRecipe(c.Recipe)
	if err != nil {
		return err
	}
	outcome, err := e.runOnce(ctx, recipe, c.Evidence, c.Record)
	if err != nil {
		return err
	}
	if c.JSON {
		if err := e.json(outcome); err != nil {
			return err
		}
	} else {
		renderOutcome(e.stdout, outcome)
	}
	if code := outcomeCode(outcome.GetKind()); code != exitOK {
		return &exitError{code: code}
	}
	return nil
}

func outcomeCode(kind misstepv1.OutcomeKind) int {
	switch kind {
	case misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN:
		return exitOK
	case misstepv1.OutcomeKind_OUTCOME_KIND_APPLICATION_FAILURE:
		return exitAppFailed
	case misstepv1.OutcomeKind_OUTCOME_KIND_VOID:
		return exitVoid
	default:
		return exitFound
	}
}

// loadRecipe reads a recipe and fills what a hand-written one may leave out.
func (e *env) loadRecipe(file string) (*misstepv1.Recipe, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read recipe: %w", err)
	}
	r := &misstepv1.Recipe{}
	if err := (protoyaml.UnmarshalOptions{Path: file}).Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("recipe: %w", err)
	}
	if r.GetJdk().GetName() == "" && r.GetJdk().GetDigest() == "" {
		return nil, fmt.Errorf("%s: jdk: name a JDK of the catalogue, e.g. jdk: {name: jdk17}", file)
	}
	if r.GetWorkload().GetName() == "" {
		return nil, fmt.Errorf("%s: workload: name a workload of the catalogue, e.g. workload: {name: clinit}", file)
	}
	var wrong []error
	for _, v := range recipe.Validate(r) {
		wrong = append(wrong, fmt.Errorf("%s: %v", file, v))
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	if r.Jdk, err = e.resolveJdk(r.GetJdk()); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if r.Workload, err = e.resolveWorkload(r.GetWorkload()); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	artefacts, err := e.agent()
	if err != nil {
		return nil, err
	}
	if d := r.GetAgentDigest(); d != "" && d != artefacts.Digest {
		return nil, fmt.Errorf("%s: agent_digest: the recipe wants %s, but the agent here is %s; leave it out or use that agent with --agent",
			file, d, artefacts.Digest)
	}
	r.AgentDigest = artefacts.Digest
	return r, nil
}

// runOnce runs a resolved recipe. Evidence goes to the folder evidence by name, or nowhere; a recording of its machine to the new folder
// record, or nowhere.
func (e *env) runOnce(ctx context.Context, recipe *misstepv1.Recipe, evidence, record string) (*misstepv1.Outcome, error) {
	scratch, err := os.MkdirTemp("", "misstep-run-")
	if err != nil {
		return nil, fmt.Errorf("make scratch folder: %w", err)
	}
	defer os.RemoveAll(scratch)
	if err := os.Chmod(scratch, 0o711); err != nil { // JVMs of another user pass through
		return nil, fmt.Errorf("make scratch folder: %w", err)
	}
	var blobs corpus.Store = memory.New()
	if evidence != "" {
		if blobs, err = localdir.New(filepath.Join(scratch, "blobs")); err != nil {
			return nil, err
		}
	}
	executor, err := e.executor(blobs, filepath.Join(scratch, "trials"))
	if err != nil {
		return nil, err
	}
	routed, err := e.route(executor, record)
	if err != nil {
		return nil, err
	}
	outcome, err := routed.Run(ctx, recipe, nil)
	if err != nil {
		return nil, err
	}
	if evidence != "" {
		for _, ev := range outcome.GetEvidence() {
			if err := saveEvidence(ctx, blobs, ev, evidence); err != nil {
				return nil, err
			}
		}
	}
	return outcome, nil
}

func saveEvidence(ctx context.Context, blobs corpus.Source, ev *misstepv1.Evidence, dir string) error {
	d, err := digest(ev.GetDigest(), "evidence "+ev.GetName())
	if err != nil {
		return err
	}
	r, _, err := blobs.Open(ctx, d)
	if err != nil {
		return fmt.Errorf("evidence %s: %w", ev.GetName(), err)
	}
	defer r.Close()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make evidence folder: %w", err)
	}
	return writeFile(filepath.Join(dir, filepath.Base(ev.GetName())), r)
}
