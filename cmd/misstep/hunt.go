package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/app"
	"misstep/app/audit"
	"misstep/app/hunt"
	"misstep/app/observe"
	"misstep/app/station"
	misstepv1 "misstep/proto/misstep/v1"
)

type huntCommand struct {
	Campaign string        `arg:"" help:"Campaign in YAML." type:"path" placeholder:"CAMPAIGN.yaml"`
	Dir      string        `help:"Folder of the hunt; another run on it resumes (default: ./hunt-NAME)." type:"path" placeholder:"DIR"`
	For      time.Duration `within:"(0s,)" help:"Time budget, overriding the campaign's; a campaign that is resumed gets a new one from now on." placeholder:"DURATION"`
	Slots    int           `within:"[1,4096]" help:"Maximum concurrent trials (default: number of CPUs)." placeholder:"N"`
	// Reproduce turns the hunt's findings into reproducers.
	Reproduce bool `help:"Then reproduce each finding: amplify, minimise, bisect, verify (see misstep reproduce)."`
	reproduceFlags
	embedFlags
	notifyFlags
	knownFlags
	httpFlag
	webFlags
	JSON bool `help:"Print the campaign's state, findings and bundles as JSON; progress stays on stderr."`
}

// huntResult is what `misstep hunt --json` prints.
type huntResult struct {
	Campaign raw               `json:"campaign"`
	Findings []raw             `json:"findings"`
	Bugs     []raw             `json:"bugs"`
	Bundles  map[string]string `json:"bundles"` // path by finding id
	Audit    *audit.Report     `json:"audit"`
	Dir      string            `json:"dir"`
}

// Run hunts until the campaign is done or interrupted; either way it ends with the summary and the bundles.
func (c *huntCommand) Run(ctx context.Context, e *env) error {
	if !c.Reproduce && (len(c.JDKs) > 0 || len(c.Perturb) > 0) {
		return errors.New("--jdks and --perturb are for reproducing what a hunt finds: add --reproduce, or set jdks and " +
			"perturbations in the campaign")
	}
	request, err := e.load(ctx, c.Campaign)
	if err != nil {
		return err
	}
	bugs, err := c.bugs()
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
	targets, err := c.targets()
	if err != nil {
		return err
	}
	metrics := observe.NewCoordinator()
	runnerMetrics := metrics.NewRunner()
	stop, err := c.serve(e.warnings(), observe.Endpoints{Metrics: metrics.Registry, Ready: runnerMetrics.CheckReadiness})
	if err != nil {
		return err
	}
	defer stop()
	dir := cmp.Or(c.Dir, "hunt-"+spec.GetName())
	result, err := hunt.Hunt{
		Installation: e.installation(), Dir: dir, Slots: c.Slots, SigningKey: e.cli.SigningKey,
		Embed: c.Embed, Reproduce: c.Reproduce, Limits: c.limits(), Notify: targets,
		Known:            bugs,
		Watch:            func(ctx context.Context, st *station.Station, id string) error { return watch(ctx, e.stderr, st, id) },
		ShowReproduction: reproductionLines(e.stderr), Say: e.say, Logger: e.warnings(),
		Metrics: metrics, RunnerMetrics: runnerMetrics, Pages: c.pages(e, dir),
	}.Run(ctx, request)
	if err != nil {
		return err
	}
	if c.JSON {
		err = e.json(huntResult{
			Campaign: raw{result.Campaign}, Findings: raws(result.Findings), Bugs: raws(result.Bugs),
			Bundles: result.Bundles, Audit: result.Audit, Dir: result.Dir,
		})
	} else {
		renderHunt(e.stdout, result)
	}
	if err == nil && ctx.Err() != nil {
		return fmt.Errorf("%w; progress is saved, run the same command again on %s to resume", app.ErrInterrupted, result.Dir)
	}
	if err == nil {
		err = nothingProved(result.Campaign, result.Dir)
	}
	return err
}

// pages serves the pages of a hunt and says where.
func (c *huntCommand) pages(e *env, dir string) func(*station.Station) (func(), error) {
	if c.Web == "" {
		return nil
	}
	return func(st *station.Station) (func(), error) {
		url, stop, err := c.start(c.ofFolder(e, st, dir), nil)
		if err == nil {
			e.say("misstep: pages at %s", url)
		}
		return stop, err
	}
}
