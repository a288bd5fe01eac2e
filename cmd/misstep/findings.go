package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"misstep/app/bundles"
	"misstep/app/retest"
	"misstep/app/station"
	"misstep/app/web"
	"misstep/internal/atomicfile"
	misstepv1 "misstep/proto/misstep/v1"
)

type findingsCommand struct {
	List   findingsList   `cmd:"" default:"withargs" help:"List what was found by bug, new ones first; selected and sorted."`
	Show   findingsShow   `cmd:"" help:"Show one finding: stacks, rates, recipe."`
	Bundle findingsBundle `cmd:"" help:"Write the bundle of a finding."`

	Explain findingsExplain `cmd:"" help:"Explain how triage came to a finding: the facts of its example and the rule that matched."`
	Audit   findingsAudit   `cmd:"" help:"Compare the evidence of trials with the findings: each recorded mismatch must be in one."`

	Merge     findingsMerge     `cmd:"" help:"Merge two findings."`
	Split     findingsSplit     `cmd:"" help:"Split off a merged finding."`
	Note      findingsNote      `cmd:"" help:"Add a note to a finding."`
	Undo      findingsUndo      `cmd:"" help:"Undo a merge, a split or a note."`
	Decisions findingsDecisions `cmd:"" help:"List merges, splits and notes."`

	Share       findingsShare       `cmd:"" help:"Let all projects see a finding."`
	Embargo     findingsEmbargo     `cmd:"" help:"Hide a finding until a date, except from triagers, admins and the people named."`
	KeepPrivate findingsKeepPrivate `cmd:"" help:"Hide a finding, except from triagers, admins and the people named."`
	Release     findingsRelease     `cmd:"" help:"Let its project see a finding, and nobody else: it is neither private, under an embargo nor shared any more."`
}

// renderHistory prints what became of a finding on new builds, if schedules have repeated its reproducer.
func (c *findingsShow) renderHistory(ctx context.Context, e *env, id string) error {
	st, err := c.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	history, err := st.Schedules.ListRetests(ctx, &misstepv1.ListRetestsRequest{FindingId: id})
	if err != nil || len(history.GetRetests()) == 0 {
		return err
	}
	fmt.Fprintln(e.stdout, "\non new builds:")
	return renderHistory(e.stdout, history.GetRetests())
}

// mail writes the page of a finding for somebody who cannot reach its coordinator.
func (c *findingsShow) mail(ctx context.Context, e *env, id string) error {
	if c.SharedBy != "" {
		return errors.New("goes without --shared-by: ask the project that owns the finding for its page")
	}
	st, err := c.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	page, err := web.New(web.Options{Conn: st.Conn, Logger: e.warnings()}).Mail(ctx, id)
	if err != nil {
		return err
	}
	return atomicfile.Write(c.HTML, page, 0o644)
}

type findingsShow struct {
	coordinatorFlags
	ID       string `arg:"" help:"Finding id or a prefix of it."`
	SharedBy string `help:"Show the finding of this other project, which shares it or names you." placeholder:"PROJECT"`
	JSON     bool   `help:"Print the finding."`
	HTML     string `name:"html" help:"Write a page to this file, which needs no other file and no network." type:"path" placeholder:"FILE"`
}

// Run shows one.
func (c *findingsShow) Run(ctx context.Context, e *env) error {
	f, err := c.finding(ctx, e, c.ID, c.SharedBy)
	if err != nil {
		return err
	}
	if c.Dir != "" && c.SharedBy == "" {
		if err := c.addVanished(ctx, e, f); err != nil {
			return err
		}
	}
	if c.HTML != "" {
		if err := c.mail(ctx, e, f.GetId()); err != nil {
			return fmt.Errorf("--html: %w", err)
		}
	}
	if c.JSON {
		return e.json(f)
	}
	fmt.Fprintf(e.stdout, "%s  %s\n", f.GetId(), f.GetTitle())
	renderKnown(e.stdout, f)
	renderStates(e.stdout, f)
	if f.GetDoubted() {
		fmt.Fprintf(e.stdout, "doubted: only %s reported it, whose runners are set aside (misstep runners says why)\n",
			strings.Join(f.GetReportedBy(), ", "))
	}
	if f.GetVisibility() != nil {
		fmt.Fprintln(e.stdout, plain(misstepv1.VisibilityText(f.GetVisibility())))
	}
	if len(f.GetAliases()) > 0 {
		fmt.Fprintf(e.stdout, "merged into it: %s\n", strings.Join(f.GetAliases(), " "))
	}
	fmt.Fprintf(e.stdout, "first seen %s, last seen %s, %s\n\n", f.GetFirstSeen().AsTime().Local().Format(time.DateTime),
		f.GetLastSeen().AsTime().Local().Format(time.DateTime), plural(int(f.GetHits()), "hit"))
	renderRates(e.stdout, f.GetRates())
	renderFactors(e.stdout, f.GetFactors())
	renderNeighbours(e.stdout, f)
	renderVanished(e.stdout, f)
	if c.Dir != "" && c.SharedBy == "" {
		retests, err := retest.Of(c.Dir, append(f.GetFormerIds(), f.GetId())...)
		if err != nil {
			return err
		}
		if len(retests) > 0 {
			fmt.Fprintln(e.stdout, "\nretests:")
			if err := renderRetests(e.stdout, retests); err != nil {
				return err
			}
			if err := couldNotRun(retests); err != nil {
				fmt.Fprintln(e.stdout, err)
			}
		}
	}
	if c.SharedBy == "" {
		if err := c.renderHistory(ctx, e, f.GetId()); err != nil {
			return err
		}
	}
	fmt.Fprintln(e.stdout)
	renderOutcome(e.stdout, nil, bundles.Example(f), nil)
	recipe, err := misstepv1.CanonicalRecipe(f.GetExampleRecipe())
	if err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "\nrecipe:\n%s", recipe)
	return nil
}

// addVanished fills in which findings vanished together with one, according to the folder's retests.
func (c *findingsShow) addVanished(ctx context.Context, e *env, f *misstepv1.Finding) error {
	st, err := c.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	all, _, err := station.Findings(ctx, st, &misstepv1.ListFindingsRequest{})
	if err == nil {
		f.VanishWith, err = retest.Together(c.Dir, f, all)
	}
	return err
}

type findingsBundle struct {
	coordinatorFlags
	embedFlags
	ID  string `arg:"" help:"Finding id or a prefix of it."`
	Out string `short:"o" help:"File to write." required:"" type:"path" placeholder:"FILE.zip"`

	Recording string `help:"Include this recording, made by misstep replay --record or misstep run --record." type:"existingdir" placeholder:"DIR"`
}

// Run writes the bundle.
func (c *findingsBundle) Run(ctx context.Context, e *env) error {
	st, err := c.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	writer := bundles.Writer{Installation: e.installation(), Station: st, SigningKey: e.cli.SigningKey, Embed: c.Embed}
	if err := writer.Finding(ctx, c.ID, c.Out, c.Recording); err != nil {
		return err
	}
	if err := e.sayShared(c.Out); err != nil {
		return err
	}
	fmt.Fprintln(e.stdout, c.Out)
	return nil
}
