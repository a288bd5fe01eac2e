package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/app/hunt"
	"misstep/app/station"
	misstepv1 "misstep/proto/misstep/v1"
)

type findingsList struct {
	coordinatorFlags
	By string `help:"Print one line for each bug or for each finding: bug or finding (default: bug; finding with --bug or --json)." placeholder:"WHAT"`

	New      bool          `help:"Only what is no known bug on at least one JDK that showed it." xor:"status"`
	Known    bool          `help:"Only known bugs." xor:"status"`
	Quiet    bool          `help:"Only what was not seen for so many trials that its rate makes that improbable." xor:"state"`
	Back     bool          `help:"Only what was seen on a build that has the fix of its known bug." xor:"state"`
	Doubted  bool          `help:"Only what nobody but owners of runners that are set aside have seen (see misstep runners)."`
	Kind     string        `help:"Only failures of this kind: mismatch, crash, hang or failure." placeholder:"KIND"`
	Check    string        `help:"Only mismatches that this check found (see misstep checks)." placeholder:"NAME"`
	JDK      string        `name:"jdk" help:"Only what this JDK showed: a name, a version or a feature release." placeholder:"JDK"`
	Campaign string        `help:"Only what was seen in this campaign." placeholder:"ID"`
	Bug      string        `help:"Only the findings of this bug." placeholder:"ID"`
	Since    time.Duration `help:"Only what was seen within this time until now, such as 24h (default: any time)." within:"(0s,)" placeholder:"DURATION"`
	Shared   bool          `help:"The findings of other projects that are shared, or that name you, instead of your project's."`
	Sort     string        `help:"Order: rate, hits, first, last, kind or jdk; highest and latest first (default: new first, then last seen)." placeholder:"KEY"`
	JSON     bool          `help:"Print a list of findings; with --by bug, of bugs."`
}

const (
	byBug     = "bug"
	byFinding = "finding"
)

// Run lists.
func (c *findingsList) Run(ctx context.Context, e *env) error {
	by, err := c.by()
	if err != nil {
		return err
	}
	st, err := c.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	var bundles map[string]string
	if c.Dir != "" {
		if bundles, err = hunt.Bundles(c.Dir); err != nil {
			return err
		}
	}
	if by == byBug {
		return c.bugs(ctx, e, st, bundles)
	}
	findings, in, err := station.Findings(ctx, st, c.request())
	if err != nil {
		return err
	}
	if c.JSON {
		return e.json(raws(findings))
	}
	if len(findings) > 0 {
		renderFindings(e.stdout, findings, bundles, c.Sort)
	}
	c.sumUp(e, len(findings), in, "", bundles)
	return nil
}

func (c *findingsList) bugs(ctx context.Context, e *env, st *station.Station, bundles map[string]string) error {
	bugs, in, err := station.Bugs(ctx, st, c.request())
	if err != nil {
		return err
	}
	if c.JSON {
		return e.json(raws(bugs))
	}
	if len(bugs) > 0 {
		renderBugs(e.stdout, bugs, bundles, c.Sort)
	}
	findings := 0
	for _, b := range bugs {
		findings += len(b.GetFindingIds())
	}
	c.sumUp(e, findings, in, plural(len(bugs), "bug")+", ", bundles)
	return nil
}

// by is what one line is for.
func (c *findingsList) by() (string, error) {
	switch {
	case c.Shared && c.By == byBug:
		return "", errors.New("--shared: findings of other projects are listed one by one: leave out --by bug")
	case c.By == byBug || c.By == byFinding:
		return c.By, nil
	case c.Shared && c.By == "":
		return byFinding, nil
	case c.By != "":
		return "", fmt.Errorf("--by: expected %s or %s, got %q", byBug, byFinding, c.By)
	case c.Bug != "" || c.JSON:
		return byFinding, nil
	}
	return byBug, nil
}

func (c *findingsList) request() *misstepv1.ListFindingsRequest {
	r := &misstepv1.ListFindingsRequest{
		CampaignId: c.Campaign, Kind: c.Kind, Check: c.Check, Jdk: c.JDK, Bug: c.Bug, Sort: c.Sort, Shared: c.Shared,
		Doubted: c.Doubted,
	}
	switch {
	case c.New:
		r.Status = "new"
	case c.Known:
		r.Status = "known"
	}
	switch {
	case c.Quiet:
		r.State = misstepv1.StateQuiet
	case c.Back:
		r.State = misstepv1.StateBack
	}
	if c.Since != 0 {
		r.Since = durationpb.New(c.Since)
	}
	return r
}

// sumUp prints how much of the store was listed, and where to look next.
func (c *findingsList) sumUp(e *env, listed int, in station.Searched, bugs string, bundles map[string]string) {
	if listed == 0 {
		fmt.Fprintln(e.stdout, c.nothing(in))
		return
	}
	fmt.Fprintf(e.stdout, "\n%s%d of %s\n", bugs, listed, plural(int(in.Total), "finding"))
	if len(bundles) > 0 {
		fmt.Fprintf(e.stdout, "bundles are in %s\n", shortPath(hunt.BundlesPath(c.Dir)))
	}
}

// nothing says why no finding was listed: a JDK on which no trial proved anything is not one without findings.
func (c *findingsList) nothing(in station.Searched) string {
	where := ""
	if c.Campaign != "" {
		where = " of this campaign"
	}
	switch {
	case in.JDKTrials != nil && *in.JDKTrials == 0:
		return fmt.Sprintf("no trial%s proved anything on %s: nothing is known about it", where, c.JDK)
	case in.Total == 0:
		return "no findings"
	case in.JDKTrials != nil:
		return fmt.Sprintf("none of %s matches; %s%s on %s proved something", plural(int(in.Total), "finding"),
			plural(int(*in.JDKTrials), "trial"), where, c.JDK)
	}
	return fmt.Sprintf("none of %s matches", plural(int(in.Total), "finding"))
}

// plural is a count with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
