package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	misstepv1 "misstep/proto/misstep/v1"
)

type huntCommand struct {
	Campaign string        `arg:"" help:"Campaign in YAML." type:"path" placeholder:"CAMPAIGN.yaml"`
	Dir      string        `help:"Folder of the hunt; a second run on it continues (default: ./hunt-NAME)." type:"path" placeholder:"DIR"`
	For      time.Duration `help:"Time budget instead of the campaign's." placeholder:"DURATION"`
	Slots    int           `help:"Trials at once (default: one for each CPU)." placeholder:"N"`
	// Reproduce turns the hunt's findings into reproducers.
	Reproduce bool `help:"Then reproduce each finding: amplify, minimise, bisect, verify (see misstep reproduce)."`
	reproduceLimits
	JSON bool `help:"Print the campaign's state, findings and bundles as JSON; progress stays on stderr."`
}

// huntResult is what `misstep hunt --json` prints.
type huntResult struct {
	Campaign raw               `json:"campaign"`
	Findings []raw             `json:"findings"`
	Bundles  map[string]string `json:"bundles"` // path by finding id
	Dir      string            `json:"dir"`
}

// Run hunts until the campaign is done or interrupted; either way it ends with the summary and the bundles.
func (c *huntCommand) Run(ctx context.Context, e *env) error {
	request, err := e.loadCampaign(ctx, c.Campaign)
	if err != nil {
		return err
	}
	spec := request.GetCampaign()
	if c.For > 0 {
		if spec.Budget == nil {
			spec.Budget = &misstepv1.Budget{}
		}
		spec.Budget.Time = durationpb.New(c.For)
	}
	if err := e.placeable(ctx, spec); err != nil {
		return err
	}
	dir := c.Dir
	if dir == "" {
		dir = "hunt-" + spec.GetName()
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return fmt.Errorf("find folder %s: %w", c.Dir, err)
	}
	unlock, err := lock(dir)
	if err != nil {
		return err
	}
	defer unlock()
	st, err := embed(dir, huntTiming(e.warnings()))
	if err != nil {
		return err
	}
	defer st.close()

	id, err := resume(ctx, st, request, c.Reproduce, c.CleanTries, e)
	if err != nil {
		return err
	}
	scratch := filepath.Join(dir, "trials")
	if err := e.runMeanwhile(ctx, st, c.Slots, scratch, func(ctx context.Context) error {
		return watch(ctx, e.stderr, st, id)
	}); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}

	// The summary is wanted after Ctrl-C, too; a second Ctrl-C ends the process.
	after := context.WithoutCancel(ctx)
	status, err := st.GetCampaign(after, &misstepv1.GetCampaignRequest{CampaignId: id})
	if err != nil {
		return err
	}
	findings, err := st.ListFindings(after, &misstepv1.ListFindingsRequest{CampaignId: id})
	if err != nil {
		return err
	}
	bundles := map[string]string{}
	for _, f := range findings.GetFindings() {
		path := filepath.Join(dir, "bundles", f.GetId()+".zip")
		if c.Reproduce && ctx.Err() == nil {
			_, err := e.reproduce(ctx, st, f.GetId(), path, c.reproduceLimits, func(work func(context.Context) error) error {
				return e.runMeanwhile(ctx, st, c.Slots, scratch, work)
			})
			if err == nil {
				bundles[f.GetId()] = path
				continue
			}
			fmt.Fprintf(e.stderr, "misstep: %s is bundled as far as it came: %v\n", f.GetId(), err)
		}
		if err := e.writeBundle(after, st, f.GetId(), path, ""); err != nil {
			fmt.Fprintf(e.stderr, "misstep: no bundle for %s: %v\n", f.GetId(), err)
			continue
		}
		bundles[f.GetId()] = path
	}
	if c.JSON {
		err = e.json(huntResult{Campaign: raw{status.GetCampaign()}, Findings: raws(findings.GetFindings()), Bundles: bundles, Dir: dir})
	} else {
		renderCampaign(e.stdout, status.GetCampaign())
		fmt.Fprintln(e.stdout)
		renderFindings(e.stdout, findings.GetFindings(), bundles)
		for _, path := range bundles {
			fmt.Fprintf(e.stdout, "\nrepeat one with: misstep replay %s\n", path)
			break
		}
	}
	if err == nil && ctx.Err() != nil {
		return &exitError{code: exitCannot, err: fmt.Errorf("%w; nothing finished is lost, the same command on %s goes on", errInterrupted, dir)}
	}
	return err
}

// runMeanwhile runs trials as long as work goes on.
func (e *env) runMeanwhile(ctx context.Context, st *station, slots int, scratch string, work func(context.Context) error) error {
	r, err := e.runner(ctx, st, slots, scratch, false)
	if err != nil {
		return err
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- r.Run(working) }()
	workErr := work(ctx)
	stop()
	runErr := <-done
	if errors.Is(runErr, context.Canceled) {
		runErr = nil
	}
	return errors.Join(workErr, runErr)
}

// resume continues the unfinished campaign of the same spec in this folder; otherwise it submits the spec. A spec that has run
// to its end here before gets a fresh seed, so that a further run looks further; but with reproduce one goes on first whose findings were being
// reproduced when it was interrupted.
func resume(ctx context.Context, st *station, request *misstepv1.SubmitCampaignRequest, reproduce bool, cleanTries uint32, e *env) (string, error) {
	list, err := st.ListCampaigns(ctx, &misstepv1.ListCampaignsRequest{})
	if err != nil {
		return "", err
	}
	var reproducing []string
	if reproduce {
		if reproducing, err = underReproduction(ctx, st, cleanTries); err != nil {
			return "", err
		}
	}
	seed := request.GetCampaign().GetSeed()
	var earlier uint64
	for _, s := range list.GetCampaigns() {
		// Same spec but for the seed and the budget, which --for may set anew.
		same := proto.CloneOf(request.GetCampaign())
		same.Seed, same.Budget = s.GetCampaign().GetSeed(), s.GetCampaign().GetBudget()
		if !proto.Equal(same, s.GetCampaign()) {
			continue
		}
		if s.GetState() == misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING {
			fmt.Fprintf(e.stderr, "continuing campaign %s: %d trials done\n", s.GetId(), finished(s))
			return s.GetId(), nil
		}
		if slices.ContainsFunc(s.GetFindingIds(), func(id string) bool { return slices.Contains(reproducing, id) }) {
			fmt.Fprintf(e.stderr, "campaign %s ended: going on with the reproduction of its findings\n", s.GetId())
			return s.GetId(), nil
		}
		earlier++
	}
	request.Campaign.Seed = seed + earlier
	if earlier > 0 {
		fmt.Fprintf(e.stderr, "this campaign ended here %d times before: going on with seed %d\n", earlier, request.GetCampaign().GetSeed())
	}
	response, err := st.SubmitCampaign(ctx, request)
	if err != nil {
		return "", err
	}
	return response.GetCampaignId(), nil
}

// underReproduction are the findings with a reproduction that has not ended, those merged into them included. With clean tries one that lacks them
// has not.
func underReproduction(ctx context.Context, st *station, cleanTries uint32) ([]string, error) {
	list, err := st.ListReproductions(ctx, &misstepv1.ListReproductionsRequest{})
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, r := range list.GetReproductions() {
		untried := cleanTries > 0 && r.GetState() == misstepv1.ReproductionState_REPRODUCTION_STATE_DONE && r.GetReproducer().GetClean() == nil
		if r.GetState() != misstepv1.ReproductionState_REPRODUCTION_STATE_RUNNING && !untried {
			continue
		}
		response, err := st.GetFinding(ctx, &misstepv1.GetFindingRequest{FindingId: r.GetFindingId()})
		if err != nil {
			return nil, err
		}
		ids = append(append(ids, response.GetFinding().GetId()), response.GetFinding().GetAliases()...)
	}
	return ids, nil
}

// lock keeps two hunts out of one folder; the lock goes with the process.
func lock(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make folder %s: %w", dir, err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	if err := flock(f); err != nil {
		return nil, errors.Join(fmt.Errorf("another hunt works in %s; wait for it or choose another --dir: %w", dir, err), f.Close())
	}
	return func() { _ = f.Close() }, nil
}
