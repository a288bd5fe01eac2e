package main

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

	"misstep/bundle"
	"misstep/coordinator/triage"
	"misstep/deploy/vm"
	"misstep/internal/atomicfile"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/jvm"
)

type bundleCommand struct {
	Verify bundleVerify `cmd:"" help:"Check every byte of a bundle."`
	Show   bundleShow   `cmd:"" help:"Print a bundle's README, or one of its files."`
	Diff   bundleDiff   `cmd:"" help:"Say in what two bundles differ: recipe, signature, stacks, rates, JDKs, files."`
	Sign   bundleSign   `cmd:"" help:"Sign a bundle with an SSH key; the signature lies beside it."`
	Unpack bundleUnpack `cmd:"" help:"Verify a bundle and unpack it into a new folder."`
}

type bundleVerify struct {
	trust
	Bundle string `arg:"" help:"Bundle of a finding." type:"path" placeholder:"BUNDLE"`
}

// Run verifies.
func (c *bundleVerify) Run(e *env) error {
	b, err := bundle.Open(c.Bundle)
	if err != nil {
		return err
	}
	defer b.Close()
	signed, err := c.check(c.Bundle)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.stdout, "%s: %d files, all as they were written: %s\n%s\n", c.Bundle, len(b.Files()), b.Reproducer().GetFinding().GetTitle(), signed)
	return err
}

type bundleShow struct {
	Bundle string `arg:"" help:"Bundle of a finding." type:"path" placeholder:"BUNDLE"`
	File   string `arg:"" optional:"" help:"File inside it; \"list\" lists them." default:"README.md"`
}

// Run prints a file of a bundle.
func (c *bundleShow) Run(e *env) error {
	b, err := bundle.Open(c.Bundle)
	if err != nil {
		return err
	}
	defer b.Close()
	if c.File == "list" {
		t := table(e.stdout)
		for _, f := range b.Files() {
			fmt.Fprintf(t, "%d\t%s\n", f.Size, f.Path)
		}
		return t.Flush()
	}
	text, err := b.ReadFile(c.File)
	if err != nil {
		return err
	}
	_, err = e.stdout.Write(text)
	return err
}

type bundleUnpack struct {
	Bundle string `arg:"" help:"Bundle of a finding." type:"path" placeholder:"BUNDLE"`
	Dir    string `arg:"" help:"Folder to make; it must not be there yet." type:"path" placeholder:"DIR"`
}

// Run unpacks.
func (c *bundleUnpack) Run(e *env) error {
	b, err := bundle.Open(c.Bundle)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := b.Extract(c.Dir); err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.stdout, "%s: repeat it with %s /path/to/jdk\n", c.Dir, filepath.Join(c.Dir, "run.sh"))
	return err
}

// writeBundle makes the bundle of a finding at path: of its newest reproducer, else of its example as it was found. The recording in a
// folder goes with it, unless that is empty.
func (e *env) writeBundle(ctx context.Context, st *station, id, path, recording string) error {
	response, err := st.GetFinding(ctx, &misstepv1.GetFindingRequest{FindingId: id})
	if err != nil {
		return err
	}
	finding := response.GetFinding()
	done, err := st.ListReproductions(ctx, &misstepv1.ListReproductionsRequest{FindingId: finding.GetId()})
	if err != nil {
		return err
	}
	for _, r := range done.GetReproductions() {
		if p := r.GetReproducer(); p != nil {
			p.Finding.KnownAs, p.Finding.KnownOn = finding.GetKnownAs(), finding.GetKnownOn() // it may have shown on other JDKs since
			return e.writeReproducer(ctx, st, p, path, recording)
		}
	}
	others, err := otherJdks(ctx, st, finding)
	if err != nil {
		return err
	}
	return e.writeReproducer(ctx, st, &misstepv1.Reproducer{
		Finding: finding, Recipe: finding.GetExampleRecipe(), OtherJdks: others, Evidence: finding.GetExample().GetEvidence(),
	}, path, recording)
}

// writeReproducer makes a bundle at path: the reproducer with its evidence, workload and agent.
func (e *env) writeReproducer(ctx context.Context, st *station, reproducer *misstepv1.Reproducer, path, recording string) error {
	recipe := reproducer.GetRecipe()
	artefacts, err := e.agent()
	if err != nil {
		return err
	}
	if d := recipe.GetAgentDigest(); d != artefacts.Digest {
		return fmt.Errorf("finding %s was made with the agent %s, but the agent here is %s: name the folder of that one with --agent",
			reproducer.GetFinding().GetId(), d, artefacts.Digest)
	}
	workload, manifest, err := e.provider(st.blobs).Workload(ctx, recipe.GetWorkload())
	if err != nil {
		return err
	}
	command, err := jvm.BundleCommand(recipe, workload, manifest)
	if err != nil {
		return err
	}
	if finding := reproducer.GetFinding(); triage.Shown(finding.GetExample(), finding.GetSignature()) != nil {
		reproducer = proto.CloneOf(reproducer)
		reproducer.Finding.Example = example(finding)
	}
	contents := bundle.Contents{
		Reproducer: reproducer,
		Workload:   workload, Agent: artefacts.Dir, Evidence: st.blobs, Command: command, Recording: recording,
	}
	if recording != "" {
		recorded, err := vm.ReadRecording(recording)
		if err != nil {
			return err
		}
		contents.Reproducer.RecordingQemu = recorded.QEMU
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make folder of bundle: %w", err)
	}
	if err := atomicfile.WriteWith(path, func(w io.Writer) error { return bundle.Write(ctx, w, contents) }); err != nil {
		return err
	}
	if e.cli.SigningKey == "" {
		return nil
	}
	return signBundle(path, e.cli.SigningKey)
}

// otherJdks are the builds besides the recipe's whose trials showed the finding, by name.
func otherJdks(ctx context.Context, st *station, f *misstepv1.Finding) ([]*misstepv1.Jdk, error) {
	builds := map[string]*misstepv1.Jdk{}
	for _, campaign := range f.GetCampaigns() {
		for token := ""; ; {
			page, err := st.ListTrials(ctx, &misstepv1.ListTrialsRequest{CampaignId: campaign, PageToken: token})
			if err != nil {
				return nil, err
			}
			for _, trial := range page.GetTrials() {
				if slices.Contains(trial.GetFindingIds(), f.GetId()) {
					builds[trial.GetRecipe().GetJdk().GetDigest()] = trial.GetRecipe().GetJdk()
				}
			}
			if token = page.GetNextPageToken(); token == "" {
				break
			}
		}
	}
	delete(builds, f.GetExampleRecipe().GetJdk().GetDigest())
	return slices.SortedFunc(maps.Values(builds), func(a, b *misstepv1.Jdk) int {
		return cmp.Or(strings.Compare(a.GetName(), b.GetName()), strings.Compare(a.GetDigest(), b.GetDigest()))
	}), nil
}
