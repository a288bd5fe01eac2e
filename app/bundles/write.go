// Package bundles writes the bundles of findings, and signs and checks them.
package bundles

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"misstep/app/local"
	"misstep/app/station"
	"misstep/bundle"
	"misstep/deploy/vm"
	"misstep/internal/atomicfile"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/jvm"
	"misstep/triage"
)

// Writer writes bundles of a coordinator's findings.
type Writer struct {
	Installation local.Installation
	Station      *station.Station
	// SigningKey is the file of an SSH private key that signs each bundle; empty signs none.
	SigningKey string
	// Embed puts large files of workloads into the bundles; else they are in the folder bundle.SharedDir beside them.
	Embed bool
}

// Finding writes the bundle of a finding to path. recording is the folder of a recording to include, or empty.
func (w Writer) Finding(ctx context.Context, id, path, recording string) error {
	reproducer, err := w.Newest(ctx, id)
	if err != nil {
		return err
	}
	return w.Reproducer(ctx, reproducer, path, recording)
}

// Newest is what a bundle of a finding is made of now: its newest reproducer, else its example as it was found.
func (w Writer) Newest(ctx context.Context, id string) (*misstepv1.Reproducer, error) {
	st := w.Station
	response, err := st.GetFinding(ctx, &misstepv1.GetFindingRequest{FindingId: id})
	if err != nil {
		return nil, err
	}
	finding := response.GetFinding()
	done, err := st.ListReproductions(ctx, &misstepv1.ListReproductionsRequest{FindingId: finding.GetId()})
	if err != nil {
		return nil, err
	}
	for _, r := range done.GetReproductions() {
		if p := r.GetReproducer(); p != nil {
			// It may have been seen on other JDKs since.
			p.Finding.KnownAs, p.Finding.KnownOn = finding.GetKnownAs(), finding.GetKnownOn()
			return p, nil
		}
	}
	others, err := otherJdks(ctx, st, finding)
	if err != nil {
		return nil, err
	}
	return &misstepv1.Reproducer{
		Finding: finding, Recipe: finding.GetExampleRecipe(), OtherJdks: others, Evidence: finding.GetExample().GetEvidence(),
	}, nil
}

// Reproducer writes a bundle to path: the reproducer with its evidence, workload and agent. recording is as for Finding.
func (w Writer) Reproducer(ctx context.Context, reproducer *misstepv1.Reproducer, path, recording string) error {
	recipe := reproducer.GetRecipe()
	artefacts, err := w.Installation.Agent()
	if err != nil {
		return err
	}
	// The example of an older store may not say which agent it was, where the recipe left that to the runner.
	if d := recipe.GetAgentDigest(); d != "" && d != artefacts.Digest {
		return fmt.Errorf("finding %s was made with agent %s, but the agent here is %s: name the folder of the former with --agent",
			reproducer.GetFinding().GetId(), d, artefacts.Digest)
	}
	workload, manifest, err := w.Installation.Provider(w.Station.Blobs).Workload(ctx, recipe.GetWorkload())
	if err != nil {
		return err
	}
	command, err := jvm.BundleCommand(recipe, workload, manifest)
	if err != nil {
		return err
	}
	if finding := reproducer.GetFinding(); triage.Shown(finding.GetExample(), finding.GetSignature()) != nil {
		reproducer = proto.CloneOf(reproducer)
		reproducer.Finding.Example = Example(finding)
	}
	contents := bundle.Contents{
		Reproducer: reproducer,
		Workload:   workload, WorkloadSource: w.source(recipe.GetWorkload()),
		Agent: artefacts.Dir, Evidence: w.Station.Blobs, Command: command, Recording: recording,
	}
	if !w.Embed {
		contents.Shared = beside{filepath.Join(filepath.Dir(path), bundle.SharedDir)}
	}
	if recording != "" {
		recorded, err := vm.ReadRecording(recording)
		if err != nil {
			return err
		}
		contents.Reproducer.RecordingQemu = recorded.QEMU
	}
	if err := Write(ctx, path, w.Installation.Profilers(), contents); err != nil {
		return err
	}
	if w.SigningKey == "" {
		return nil
	}
	return Sign(path, w.SigningKey)
}

// Write writes a bundle to path, with the files of its recipe's profiler; libraries is the folder of the profilers' libraries.
func Write(ctx context.Context, path, libraries string, contents bundle.Contents) error {
	profiler, err := os.MkdirTemp("", "misstep-bundle-")
	if err != nil {
		return fmt.Errorf("make folder for the profiler's files: %w", err)
	}
	defer os.RemoveAll(profiler)
	switch has, err := jvm.BundleProfiler(contents.Reproducer.GetRecipe(), libraries, profiler); {
	case err != nil:
		return err
	case has:
		contents.Profiler = profiler
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make folder of bundle: %w", err)
	}
	return atomicfile.WriteWith(path, func(out io.Writer) error { return bundle.Write(ctx, out, contents) })
}

// source is where the catalogue has a workload from; it is empty for one that the catalogue has not.
func (w Writer) source(workload *misstepv1.Workload) string {
	entry, err := w.Installation.Workloads().Get(workload.GetName())
	if err != nil || entry.Digest.String() != workload.GetDigest() {
		return ""
	}
	return entry.Source
}

// otherJdks are the builds besides the recipe's whose trials showed the finding, by name.
func otherJdks(ctx context.Context, st *station.Station, f *misstepv1.Finding) ([]*misstepv1.Jdk, error) {
	builds := map[string]*misstepv1.Jdk{}
	for _, campaign := range f.GetCampaigns() {
		trials, err := station.Trials(ctx, st, campaign)
		if err != nil {
			return nil, err
		}
		for _, trial := range trials {
			if slices.Contains(trial.GetFindingIds(), f.GetId()) {
				builds[trial.GetRecipe().GetJdk().GetDigest()] = trial.GetRecipe().GetJdk()
			}
		}
	}
	delete(builds, f.GetExampleRecipe().GetJdk().GetDigest())
	return slices.SortedFunc(maps.Values(builds), func(a, b *misstepv1.Jdk) int {
		return cmp.Or(strings.Compare(a.GetName(), b.GetName()), strings.Compare(a.GetDigest(), b.GetDigest()))
	}), nil
}

// Example is a finding's example without what belongs to other findings.
func Example(f *misstepv1.Finding) *misstepv1.Outcome {
	return triage.Only(f.GetExample(), triage.Shown(f.GetExample(), f.GetSignature()))
}
