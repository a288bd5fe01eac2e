package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"misstep/coordinator/triage"
	misstepv1 "misstep/proto/misstep/v1"
)

type findingsCommand struct {
	List   findingsList   `cmd:"" default:"withargs" help:"List findings, most recently seen first."`
	Show   findingsShow   `cmd:"" help:"Show one finding: stacks, rates, recipe."`
	Bundle findingsBundle `cmd:"" help:"Write the bundle of a finding."`
}

type findingsList struct {
	where
	Campaign string `help:"Only findings of this campaign." placeholder:"ID"`
	JSON     bool   `help:"Print a list of findings."`
}

// Run lists.
func (c *findingsList) Run(ctx context.Context, e *env) error {
	st, err := c.station(e.warnings())
	if err != nil {
		return err
	}
	defer st.close()
	response, err := st.ListFindings(ctx, &misstepv1.ListFindingsRequest{CampaignId: c.Campaign})
	if err != nil {
		return err
	}
	if c.JSON {
		return e.json(raws(response.GetFindings()))
	}
	renderFindings(e.stdout, response.GetFindings(), nil)
	return nil
}

type findingsShow struct {
	where
	ID   string `arg:"" help:"Finding id or the start of it."`
	JSON bool   `help:"Print the finding."`
}

// Run shows one.
func (c *findingsShow) Run(ctx context.Context, e *env) error {
	st, err := c.station(e.warnings())
	if err != nil {
		return err
	}
	defer st.close()
	response, err := st.GetFinding(ctx, &misstepv1.GetFindingRequest{FindingId: c.ID})
	if err != nil {
		return err
	}
	f := response.GetFinding()
	if c.JSON {
		return e.json(f)
	}
	fmt.Fprintf(e.stdout, "%s  %s\n", f.GetId(), f.GetTitle())
	if f.GetKnownAs() != "" {
		fmt.Fprintf(e.stdout, "known as %s\n", f.GetKnownAs())
	}
	fmt.Fprintf(e.stdout, "first seen %s, last seen %s, %d hits\n\n", f.GetFirstSeen().AsTime().Local().Format(time.DateTime),
		f.GetLastSeen().AsTime().Local().Format(time.DateTime), f.GetHits())
	renderRates(e.stdout, f.GetRates())
	fmt.Fprintln(e.stdout)
	renderOutcome(e.stdout, example(f))
	recipe, err := misstepv1.CanonicalRecipe(f.GetExampleRecipe())
	if err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "\nrecipe:\n%s", recipe)
	return nil
}

// example is a finding's example without what belongs to other findings.
func example(f *misstepv1.Finding) *misstepv1.Outcome {
	own := proto.CloneOf(f.GetExample())
	own.Mismatches = slices.DeleteFunc(own.Mismatches, func(m *misstepv1.Mismatch) bool {
		signature, _ := triage.Mismatch(m)
		return len(m.GetReference().GetFrames()) == 0 || !proto.Equal(signature, f.GetSignature())
	})
	return own
}

type findingsBundle struct {
	where
	ID  string `arg:"" help:"Finding id or the start of it."`
	Out string `short:"o" help:"File to write." required:"" type:"path" placeholder:"FILE.zip"`
}

// Run writes the bundle.
func (c *findingsBundle) Run(ctx context.Context, e *env) error {
	st, err := c.station(e.warnings())
	if err != nil {
		return err
	}
	defer st.close()
	if err := e.writeBundle(ctx, st, c.ID, c.Out); err != nil {
		return err
	}
	fmt.Fprintln(e.stdout, c.Out)
	return nil
}
