// Package hunt runs a campaign to its end in a folder, with coordinator and runners in this process, and writes a bundle for each
// finding as soon as it is found.
package hunt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"google.golang.org/protobuf/proto"

	"misstep/app"
	"misstep/app/audit"
	"misstep/app/executors"
	"misstep/app/local"
	"misstep/app/observe"
	"misstep/app/reproduction"
	"misstep/app/station"
	"misstep/coordinator/notify"
	misstepv1 "misstep/proto/misstep/v1"
)

// Hunt is a campaign to run.
type Hunt struct {
	Installation local.Installation
	// Dir is the folder of the hunt; a hunt that was interrupted there is resumed.
	Dir string
	// Slots is the maximum number of concurrent trials; 0 means the number of CPUs.
	Slots int
	// SigningKey as for bundles.Writer.
	SigningKey string
	// Embed as for bundles.Writer.
	Embed bool
	// Reproduce turns the findings into reproducers, within Limits.
	Reproduce bool
	Limits    reproduction.Limits
	// Known bugs of one's own that the folder's store keeps from now on.
	Known []*misstepv1.KnownBug
	// Watch shows the campaign's progress until it has ended.
	Watch func(ctx context.Context, st *station.Station, id string) error
	// ShowReproduction is called with the state of a reproduction again and again.
	ShowReproduction func(*misstepv1.ReproductionStatus)
	Say              app.Say
	// Pages are called with the hunt's coordinator and serve its pages until what they return is called; nil serves none.
	Pages func(*station.Station) (stop func(), err error)
	// Notify are the targets that are told about findings.
	Notify []notify.Target
	// Logger takes warnings.
	Logger *slog.Logger
	// Metrics and RunnerMetrics of the hunt's coordinator and runner; nil are none.
	Metrics       *observe.Coordinator
	RunnerMetrics *observe.Runner
}

// Result of a hunt, which may have been interrupted.
type Result struct {
	Campaign *misstepv1.CampaignStatus
	Findings []*misstepv1.Finding
	// Bugs are what the findings are, new ones first.
	Bugs    []*misstepv1.Bug
	Bundles map[string]string // path by finding id
	// Audit compares the evidence of the campaign's trials with the findings; nil if that could not be read.
	Audit *audit.Report
	// Dir is the folder of the hunt, absolute.
	Dir string
}

// Run runs the campaign until it is done or the context ends; either way the findings so far are summarised and bundled.
// Its folder is shared with nobody, so the campaign's project does not matter.
func (h Hunt) Run(ctx context.Context, request *misstepv1.SubmitCampaignRequest) (*Result, error) {
	request = proto.CloneOf(request)
	request.GetCampaign().Project = ""
	if err := executors.CheckPlacement(ctx, h.Installation.Home, request.GetCampaign()); err != nil {
		return nil, err
	}
	if h.Reproduce {
		if err := h.Limits.Check(h.Installation); err != nil {
			return nil, err
		}
	}
	dir, err := filepath.Abs(h.Dir)
	if err != nil {
		return nil, fmt.Errorf("find folder %s: %w", h.Dir, err)
	}
	h.Dir = dir
	unlock, err := station.Lock(dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	config := station.HuntTiming(h.Logger)
	config.Notify = h.Notify
	if h.Metrics != nil {
		config.Metrics = h.Metrics
	}
	st, err := station.Embed(dir, config)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	if h.Pages != nil {
		stop, err := h.Pages(st)
		if err != nil {
			return nil, err
		}
		defer stop()
	}
	if len(h.Known) > 0 {
		put, err := st.PutKnownBugs(ctx, &misstepv1.PutKnownBugsRequest{Bugs: h.Known})
		if err != nil {
			return nil, err
		}
		for _, w := range put.GetWarnings() {
			h.Say("misstep: known bug %s", w)
		}
	}
	id, err := h.resume(ctx, st, request)
	if err != nil {
		return nil, err
	}
	p := h.press(st)
	err = h.runTrials(ctx, st, func(ctx context.Context) error {
		return p.during(ctx, id, func(ctx context.Context) error { return h.Watch(ctx, st, id) })
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		return nil, err
	}

	// After an interruption the summary is wanted as well; a second one ends the process.
	after := context.WithoutCancel(ctx)
	status, err := st.GetCampaign(after, &misstepv1.GetCampaignRequest{CampaignId: id})
	if err != nil {
		return nil, err
	}
	seen := &misstepv1.ListFindingsRequest{CampaignId: id}
	findings, _, err := station.Findings(after, st, seen)
	if err != nil {
		return nil, err
	}
	result := &Result{Campaign: status.GetCampaign(), Findings: findings, Dir: dir, Bundles: h.finishBundles(ctx, p, findings)}
	// Last, since a reproduction changes hits and may add a JDK.
	if result.Bugs, _, err = station.Bugs(after, st, seen); err != nil {
		return result, err
	}
	if result.Audit, err = audit.Run(after, st, id); err != nil {
		h.Say("misstep: the evidence is not compared with the findings: %v", err) // what was found is there all the same
	}
	return result, nil
}

// runTrials runs trials on this machine until work has returned.
func (h Hunt) runTrials(ctx context.Context, st *station.Station, work func(context.Context) error) error {
	return executors.RunDuring(ctx, h.Installation, executors.RunnerConfig{
		Station: st, Slots: h.Slots, Scratch: filepath.Join(h.Dir, "trials"), Logger: h.Logger, Warnings: h.Logger,
		Metrics: h.RunnerMetrics,
	}, work)
}
