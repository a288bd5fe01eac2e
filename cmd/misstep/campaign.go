package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"misstep/coordinator/campaign"
	"misstep/coordinator/store/stores"
	"misstep/corpus/tree"
	"misstep/deploy/jdk/preset"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/schedule"
)

type campaignCommand struct {
	Submit campaignSubmit `cmd:"" help:"Check a campaign and put it into the queue."`
	List   campaignList   `cmd:"" help:"List campaigns, newest first."`
	Show   campaignShow   `cmd:"" help:"Show one campaign with its counts."`
	Trials campaignTrials `cmd:"" help:"List a campaign's finished trials, each with the perturbation that was in force."`
	Stop   campaignStop   `cmd:"" help:"Cancel what is queued and what runs; finished trials stay."`

	Presets campaignPresets `cmd:"" help:"List the presets of JVM flags and what each is on the catalogue's JDKs."`
}

// loadCampaign reads a campaign file and resolves its names in the local catalogues.
func (e *env) loadCampaign(ctx context.Context, file string) (*misstepv1.SubmitCampaignRequest, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read campaign: %w", err)
	}
	document, err := campaign.Parse(text, file)
	if err != nil {
		return nil, err
	}
	names, err := e.names()
	if err != nil {
		return nil, err
	}
	if err := document.Resolve(names); err != nil {
		return nil, err
	}
	spec := document.Campaign
	artefacts, err := e.agent()
	if err != nil {
		return nil, err
	}
	request := &misstepv1.SubmitCampaignRequest{Campaign: spec, AgentDigest: artefacts.Digest}
	for _, name := range spec.GetJdks() {
		j, err := e.resolveJdk(&misstepv1.Jdk{Name: name})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		request.Jdks = append(request.Jdks, j)
		presets, err := e.resolvePresets(ctx, spec, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		request.Presets = append(request.Presets, presets...)
	}
	for _, w := range spec.GetWorkloads() {
		resolved, err := e.resolveWorkload(&misstepv1.Workload{Name: w.GetName()})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		request.Workloads = append(request.Workloads, resolved)
		unsuited, err := e.unsuited(spec.GetJdks(), w.GetName())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		request.Unsuited = append(request.Unsuited, unsuited...)
	}
	expansion, err := campaign.NewExpansion(request)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, skipped := range expansion.Skipped() {
		fmt.Fprintln(e.stderr, "left out:", skipped)
	}
	return request, nil
}

// names lists what the local catalogues have.
func (e *env) names() (campaign.Names, error) {
	names := campaign.Names{JDKs: []string{}, Workloads: []string{}, Presets: preset.Names(), Strategies: strategies()}
	jdks, err := e.jdks().List()
	if err != nil {
		return names, err
	}
	for _, entry := range jdks {
		names.JDKs = append(names.JDKs, entry.Name)
	}
	loads, err := e.workloads().List()
	if err != nil {
		return names, err
	}
	for _, entry := range loads {
		names.Workloads = append(names.Workloads, entry.Name)
	}
	return names, nil
}

// pushTrees gives the coordinator's corpus the files that a campaign needs and that it lacks.
func (e *env) pushTrees(ctx context.Context, st *station, r *misstepv1.SubmitCampaignRequest) error {
	for _, j := range r.GetJdks() {
		if err := e.jdks().Push(ctx, st.blobs, j.GetName()); err != nil {
			return err
		}
	}
	for _, w := range r.GetWorkloads() {
		entry, err := e.workloads().Get(w.GetName())
		if err != nil {
			return err
		}
		m, err := tree.Scan(entry.Path)
		if err == nil {
			err = tree.Push(ctx, st.blobs, entry.Path, m)
		}
		if err != nil {
			return fmt.Errorf("send workload %s: %w", entry.Name, err)
		}
	}
	return nil
}

// strategies are the scheduler's, as the coordinator wants to know them.
func strategies() []campaign.Strategy {
	var all []campaign.Strategy
	for _, s := range schedule.Strategies() {
		one := campaign.Strategy{Name: s.Name}
		for _, p := range s.All() {
			one.Parameters = append(one.Parameters, campaign.Parameter{
				Name: p.Name, Unit: p.Unit, Min: p.Min, Max: p.Max, Default: p.Default, Whole: p.Whole,
			})
		}
		all = append(all, one)
	}
	return all
}

type campaignSubmit struct {
	where
	File string `arg:"" help:"Campaign in YAML." type:"existingfile"`
	JSON bool   `help:"Print {\"campaign_id\": …}."`
}

// Run submits.
func (c *campaignSubmit) Run(ctx context.Context, e *env) error {
	request, err := e.loadCampaign(ctx, c.File)
	if err != nil {
		return err
	}
	if c.Dir != "" { // a folder to submit into may be new
		if err := stores.Create(ctx, c.Dir); err != nil {
			return err
		}
	}
	st, err := c.station(e.warnings())
	if err != nil {
		return err
	}
	defer st.close()
	if c.Coordinator != "" {
		if err := e.pushTrees(ctx, st, request); err != nil {
			return err
		}
	}
	response, err := st.SubmitCampaign(ctx, request)
	if err != nil {
		return err
	}
	if c.JSON {
		return e.json(response)
	}
	fmt.Fprintln(e.stdout, response.GetCampaignId())
	return nil
}

type campaignList struct {
	where
	JSON bool `help:"Print a list of campaign states."`
}

// Run lists.
func (c *campaignList) Run(ctx context.Context, e *env) error {
	st, err := c.station(e.warnings())
	if err != nil {
		return err
	}
	defer st.close()
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
			s.GetSubmitted().AsTime().Local().Format(time.DateTime), finished(s), len(s.GetFindingIds()))
	}
	return t.Flush()
}

func stateName(s misstepv1.CampaignState) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "CAMPAIGN_STATE_"))
}

// finished counts trials with an outcome.
func finished(s *misstepv1.CampaignStatus) uint64 { return total(s.GetOutcomes()) }

type campaignShow struct {
	where
	ID   string `arg:"" help:"Campaign id or the start of it."`
	JSON bool   `help:"Print the campaign's state."`
}

// Run shows one.
func (c *campaignShow) Run(ctx context.Context, e *env) error {
	st, err := c.station(e.warnings())
	if err != nil {
		return err
	}
	defer st.close()
	response, err := st.GetCampaign(ctx, &misstepv1.GetCampaignRequest{CampaignId: c.ID})
	if err != nil {
		return err
	}
	if c.JSON {
		return e.json(response.GetCampaign())
	}
	renderCampaign(e.stdout, response.GetCampaign())
	return nil
}

type campaignStop struct {
	where
	ID string `arg:"" help:"Campaign id or the start of it."`
}

// Run stops one.
func (c *campaignStop) Run(ctx context.Context, e *env) error {
	st, err := c.station(e.warnings())
	if err != nil {
		return err
	}
	defer st.close()
	_, err = st.StopCampaign(ctx, &misstepv1.StopCampaignRequest{CampaignId: c.ID})
	return err
}
