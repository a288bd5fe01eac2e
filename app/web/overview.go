package web

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	misstepv1 "misstep/proto/misstep/v1"
)

// newWithin is how long what was found counts as new on the overview, and maxListed bounds its lists.
const (
	newWithin = 24 * time.Hour
	maxListed = 12
)

// overview is what the first page shows.
type overview struct {
	Now time.Time
	// Running campaigns, and the latest that ended.
	Running, Ended []campaignRow
	// Trials and Checks a second of the running campaigns, on average.
	Trials, Checks float64
	// New bugs of today, those that are back on a build with their fix, and those that became quiet.
	New, Back, Quiet []*misstepv1.Bug
	MoreNew          bool
	// Findings in all, with their history.
	Findings uint64
	History  *misstepv1.History
	Fleet    fleetSum
	// Verdict in one line, and whether it is a good one.
	Verdict string
	Good    bool
}

// fleetSum is how the runners are.
type fleetSum struct {
	Runners, NotReady, SetAside int
	Slots, Running              uint64
}

// overviewJSON is its JSON.
type overviewJSON struct {
	Verdict        string  `json:"verdict"`
	TrialsASecond  float64 `json:"trials_per_second"`
	ChecksASecond  float64 `json:"checks_per_second"`
	Findings       uint64  `json:"findings"`
	History        raw     `json:"history"`
	Running        []raw   `json:"running_campaigns"`
	New            []raw   `json:"new_bugs"`
	Back           []raw   `json:"back_bugs"`
	Quiet          []raw   `json:"quiet_bugs"`
	Runners        int     `json:"runners"`
	RunnersSilent  int     `json:"runners_not_ready"`
	RunnersAside   int     `json:"runners_set_aside"`
	Slots          uint64  `json:"slots"`
	TrialsUnderWay uint64  `json:"running_trials"`
}

func (s *Site) overview(r *http.Request) (*page, error) {
	ctx := r.Context()
	o := overview{Now: s.Clock()}
	campaigns, err := s.admin.ListCampaigns(ctx, &misstepv1.ListCampaignsRequest{})
	if err != nil {
		return nil, err
	}
	for _, c := range campaigns.GetCampaigns() {
		row := rowOf(c, o.Now)
		if c.GetState() == misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING {
			o.Running = append(o.Running, row)
			o.Trials, o.Checks = o.Trials+c.GetTrialsPerSecond(), o.Checks+row.ChecksPerSecond
		} else if len(o.Ended) < maxListed/2 {
			o.Ended = append(o.Ended, row)
		}
	}
	if err := s.addBugs(ctx, &o); err != nil {
		return nil, err
	}
	runners, err := s.admin.ListRunners(ctx, &misstepv1.ListRunnersRequest{})
	if err != nil {
		return nil, err
	}
	o.Fleet = sumOf(runners.GetRunners())
	o.judge()
	running := []raw{}
	for _, c := range o.Running {
		running = append(running, raw{c.CampaignStatus})
	}
	return &page{
		template: "overview", title: "Overview", data: o, live: true, csv: o.csv(),
		json: overviewJSON{
			Verdict: o.Verdict, TrialsASecond: o.Trials, ChecksASecond: o.Checks, Findings: o.Findings, History: raw{o.History},
			Running: running, New: raws(o.New), Back: raws(o.Back), Quiet: raws(o.Quiet), Runners: o.Fleet.Runners,
			RunnersSilent: o.Fleet.NotReady, RunnersAside: o.Fleet.SetAside, Slots: o.Fleet.Slots, TrialsUnderWay: o.Fleet.Running,
		},
	}, nil
}

// addBugs fills in what is new, what is back and what became quiet.
func (s *Site) addBugs(ctx context.Context, o *overview) error {
	first, err := s.admin.ListBugs(ctx, listBugs(&misstepv1.ListFindingsRequest{Sort: "first", PageSize: maxListed + 1}))
	if err != nil {
		return err
	}
	o.Findings, o.History = first.GetTotal(), first.GetHistory()
	for _, b := range first.GetBugs() {
		if o.Now.Sub(b.GetFirstSeen().AsTime()) < newWithin {
			o.New = append(o.New, b)
		}
	}
	if o.MoreNew = len(o.New) > maxListed; o.MoreNew {
		o.New = o.New[:maxListed]
	}
	for state, list := range map[string]*[]*misstepv1.Bug{misstepv1.StateBack: &o.Back, misstepv1.StateQuiet: &o.Quiet} {
		request := &misstepv1.ListFindingsRequest{State: state, Sort: "last", PageSize: maxListed}
		found, err := s.admin.ListBugs(ctx, listBugs(request))
		if err != nil {
			return err
		}
		*list = found.GetBugs()
	}
	return nil
}

func listBugs(r *misstepv1.ListFindingsRequest) *misstepv1.ListBugsRequest {
	return &misstepv1.ListBugsRequest{Findings: r}
}

func sumOf(runners []*misstepv1.RunnerStatus) (f fleetSum) {
	f.Runners = len(runners)
	for _, r := range runners {
		f.Slots, f.Running = f.Slots+uint64(r.GetRunner().GetSlots()), f.Running+r.GetRunning()
		switch {
		case r.GetSetAside() != "":
			f.SetAside++
		case r.GetNotReady() != "":
			f.NotReady++
		}
	}
	return f
}

// judge says at a glance whether the hunt works.
func (o *overview) judge() {
	proves := func(c campaignRow) bool { return c.Finished == 0 || c.Proving > 0 }
	switch {
	case len(o.Running) == 0 && len(o.Ended) == 0:
		o.Verdict = "Nothing runs, and nothing has run."
	case len(o.Running) == 0 && !proves(o.Ended[0]):
		o.Verdict = "Nothing runs, and no trial of the last campaign proved anything: see what became of them."
	case len(o.Running) == 0:
		o.Verdict, o.Good = fmt.Sprintf("Nothing runs. The last campaign ended %s, with %s.",
			momentOf(o.Now, o.Ended[0].GetEnded()).Ago, plural(len(o.Ended[0].GetFindingIds()), "finding")), true
	case o.Fleet.Runners == 0:
		o.Verdict = "Campaigns wait: no runner calls."
	case !slices.ContainsFunc(o.Running, proves):
		o.Verdict = "Trials run, but none of them proves anything: see what became of them."
	case o.Fleet.NotReady+o.Fleet.SetAside == o.Fleet.Runners:
		o.Verdict = "Campaigns wait: no runner takes trials."
	default:
		o.Verdict, o.Good = "The hunt works.", true
	}
}

// Series are the charts of the history.
func (o overview) Series() []series {
	h := o.History
	return []series{
		{"new findings", sparkOfCounts(h, h.GetFound(), "new finding")},
		{"trials with findings", sparkOfCounts(h, h.GetHits(), "trial")},
		{"trials", sparkOfCounts(h, h.GetTrials(), "trial")},
	}
}

func (o *overview) csv() [][]string {
	rows := [][]string{{"what", "id", "title", "status", "hits", "first seen", "last seen"}}
	for _, list := range []struct {
		what string
		bugs []*misstepv1.Bug
	}{{"new", o.New}, {"back", o.Back}, {"quiet", o.Quiet}} {
		for _, b := range list.bugs {
			rows = append(rows, []string{
				list.what, b.GetId(), b.GetTitle(), b.GetStatus(), number(b.GetHits()), stamp(b.GetFirstSeen()),
				stamp(b.GetLastSeen()),
			})
		}
	}
	return rows
}
