package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"misstep/app/catalogues"
	"misstep/app/compared"
	"misstep/app/station"
	"misstep/app/submission"
	"misstep/coordinator/store/stores"
	misstepv1 "misstep/proto/misstep/v1"
)

type campaignCommand struct {
	Check    campaignCheck    `cmd:"" help:"Validate a campaign and say where its names come from, without submitting it."`
	Submit   campaignSubmit   `cmd:"" help:"Validate a campaign and queue it."`
	Schedule campaignSchedule `cmd:"" help:"Submit a campaign again and again: each time that a duration has passed, or for each new JDK build."`
	List     campaignList     `cmd:"" help:"List campaigns, newest first."`
	Show     campaignShow     `cmd:"" help:"Show one campaign with its counts."`
	Trials   campaignTrials   `cmd:"" help:"List a campaign's finished trials with the perturbation that was in force in each."`
	Stop     campaignStop     `cmd:"" help:"Cancel queued and running trials; finished ones are kept."`

	Presets campaignPresets `cmd:"" help:"List the presets of JVM flags and the flags of each on the catalogue's JDKs."`
}

// catalogueFlag says which catalogue gives the names of a campaign.
type catalogueFlag struct {
	Catalogue string `help:"Catalogue that gives a name which both have: own (this machine's) or shared (the coordinator's)." enum:"own,shared" default:"own"`
}

type campaignCheck struct {
	coordinatorFlags
	catalogueFlag
	File string `arg:"" help:"Campaign in YAML." type:"existingfile"`
}

// Run checks.
func (c *campaignCheck) Run(ctx context.Context, e *env) error {
	if !c.shared() {
		request, err := e.load(ctx, c.File)
		if err == nil {
			fmt.Fprintf(e.stdout, "%s is valid here\n", request.GetCampaign().GetName())
		}
		return err
	}
	st, err := c.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	request, checked, err := e.loadChecked(ctx, st, c.File, c.Catalogue)
	if err != nil {
		return err
	}
	for _, name := range checked.GetFromCatalogue() {
		fmt.Fprintln(e.stdout, resolvedLine(name))
	}
	fmt.Fprintf(e.stdout, "%s is valid: %d combinations\n", request.GetCampaign().GetName(), checked.GetCombinations())
	return nil
}

// resolvedLine says what the shared catalogue gave for a name.
func resolvedLine(r *misstepv1.ResolvedName) string {
	return fmt.Sprintf("%s %s: %s of the shared catalogue, added by %s on %s", r.GetKind(), r.GetName(), r.GetDigest(),
		orDash(r.GetOwner()), r.GetAdded().AsTime().Local().Format(time.DateTime))
}

// loadChecked is loadFor with what the coordinator says of the campaign; what is left out of it is printed.
func (e *env) loadChecked(
	ctx context.Context, st *station.Station, file, first string,
) (*misstepv1.SubmitCampaignRequest, *misstepv1.CheckCampaignResponse, error) {
	request, err := e.loadFor(ctx, st, file, first)
	if err != nil {
		return nil, nil, err
	}
	checked, err := st.Catalogue.CheckCampaign(ctx, &misstepv1.CheckCampaignRequest{Submission: request})
	if err != nil {
		return nil, nil, err
	}
	for _, line := range checked.GetSkipped() {
		e.say("left out: %s", line)
	}
	return request, checked, nil
}

// loadFor is load for a coordinator with a shared catalogue.
func (e *env) loadFor(ctx context.Context, st *station.Station, file, first string) (*misstepv1.SubmitCampaignRequest, error) {
	entries, err := catalogues.List(ctx, st.Catalogue, &misstepv1.ListCatalogueEntriesRequest{})
	if err != nil {
		return nil, err
	}
	request, notes, err := submission.LoadFor(ctx, e.installation(), file,
		submission.Shared{Entries: entries, First: submission.Precedence(first)})
	for _, note := range notes {
		e.say("%s", note)
	}
	return request, err
}

type campaignSubmit struct {
	coordinatorFlags
	catalogueFlag
	File string `arg:"" help:"Campaign in YAML." type:"existingfile"`
	JSON bool   `help:"Print {\"campaign_id\": …}."`
}

type campaignList struct {
	coordinatorFlags
	JSON bool `help:"Print a list of campaign states."`
}

// Run lists.
func (c *campaignList) Run(ctx context.Context, e *env) error {
	st, err := c.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	response, err := st.ListCampaigns(ctx, &misstepv1.ListCampaignsRequest{})
	if err != nil {
		return err
	}
	if c.JSON {
		return e.json(raws(response.GetCampaigns()))
	}
	t := table(e.stdout)
	fmt.Fprintln(t, "id\tname\tstate\tsubmitted\ttrials\tfindings")
	for _, s := range response.GetCampaigns() {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%d\n", s.GetId(), s.GetCampaign().GetName(), stateName(s.GetState()),
			s.GetSubmitted().AsTime().Local().Format(time.DateTime), station.Finished(s), len(s.GetFindingIds()))
	}
	return t.Flush()
}

func stateName(s misstepv1.CampaignState) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "CAMPAIGN_STATE_"))
}

type campaignShow struct {
	coordinatorFlags
	ID   string `arg:"" help:"Campaign id or a prefix of it."`
	JSON bool   `help:"Print the campaign's state."`
}

// Run shows one.
func (c *campaignShow) Run(ctx context.Context, e *env) error {
	st, err := c.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	response, err := st.GetCampaign(ctx, &misstepv1.GetCampaignRequest{CampaignId: c.ID})
	if err != nil {
		return err
	}
	if c.JSON {
		return e.json(response.GetCampaign())
	}
	renderCampaign(e.stdout, response.GetCampaign())
	rows := compared.OfCampaign(response.GetCampaign())
	renderCompared(e.stdout, rows)
	renderDoubts(e.stdout, rows, "the table has all")
	if upTo := compared.UpTo(rows); upTo != "" && len(response.GetCampaign().GetFindingIds()) == 0 {
		fmt.Fprintln(e.stdout, upTo)
	}
	return nil
}

type campaignStop struct {
	coordinatorFlags
	ID   string `arg:"" help:"Campaign id or a prefix of it; RT… ends the retests of a build."`
	JSON bool   `help:"Print the campaign as it is then."`
}

// Run stops one.
func (c *campaignStop) Run(ctx context.Context, e *env) error {
	st, err := c.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	if _, err = st.StopCampaign(ctx, &misstepv1.StopCampaignRequest{CampaignId: c.ID}); err != nil || !c.JSON {
		return err
	}
	stopped, err := st.GetCampaign(ctx, &misstepv1.GetCampaignRequest{CampaignId: c.ID})
	if err != nil {
		return err
	}
	return e.json(stopped.GetCampaign())
}

// load reads a campaign file and prints the combinations that are left out because a JDK cannot run them.
func (e *env) load(ctx context.Context, file string) (*misstepv1.SubmitCampaignRequest, error) {
	request, skipped, err := submission.Load(ctx, e.installation(), file)
	for _, combination := range skipped {
		e.say("left out: %s", combination)
	}
	return request, err
}

// Run submits.
func (c *campaignSubmit) Run(ctx context.Context, e *env) error {
	if c.Dir != "" && station.CheckDir(c.Dir) != nil { // a folder to submit to may be new, but a file with a mistake makes none
		if _, _, err := submission.Load(ctx, e.installation(), c.File); err != nil {
			return err
		}
		if err := stores.Create(ctx, c.Dir); err != nil {
			return err
		}
	}
	st, err := c.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	request, _, err := e.loadChecked(ctx, st, c.File, c.Catalogue)
	if err != nil {
		return err
	}
	if st.Remote {
		if err := submission.PushTrees(ctx, e.installation(), st.Blobs, request); err != nil {
			return err
		}
	}
	response, err := st.SubmitCampaign(ctx, request)
	if err != nil {
		return err
	}
	for _, name := range response.GetFromCatalogue() {
		e.say("%s", resolvedLine(name))
	}
	if c.JSON {
		return e.json(response)
	}
	fmt.Fprintln(e.stdout, response.GetCampaignId())
	return nil
}
