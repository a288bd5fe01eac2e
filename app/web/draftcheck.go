package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/app"
	"misstep/app/catalogues"
	"misstep/app/station"
	"misstep/app/submission"
	"misstep/coordinator/campaign"
	"misstep/coordinator/catalogue"
	misstepv1 "misstep/proto/misstep/v1"
)

// names are those that a campaign may use.
type names struct {
	jdks, workloads []choice
	shared          []*misstepv1.CatalogueEntry
}

// names lists what the shared catalogue has, and this machine's where its runners are here.
func (s *Site) names(ctx context.Context) (names, error) {
	entries, err := catalogues.List(ctx, s.shared, &misstepv1.ListCatalogueEntriesRequest{})
	if err != nil {
		return names{}, err
	}
	n := names{shared: entries}
	if s.Own != nil {
		jdks, err := s.Own.JDKs().List()
		if err != nil {
			return names{}, err
		}
		for _, j := range jdks {
			n.jdks = append(n.jdks, choice{Value: j.Name, Label: j.Name + " " + j.Version})
		}
		loads, err := s.Own.WorkloadNames()
		if err != nil {
			return names{}, err
		}
		for _, w := range loads {
			n.workloads = append(n.workloads, choice{Value: w, Label: w})
		}
	}
	for _, e := range entries {
		list, label := &n.workloads, e.GetName()
		if e.GetKind() == catalogue.JDK {
			list, label = &n.jdks, e.GetName()+" "+e.GetJdk().GetVersion()
		}
		if !slices.ContainsFunc(*list, func(c choice) bool { return c.Value == e.GetName() }) {
			*list = append(*list, choice{Value: e.GetName(), Label: strings.TrimSpace(label)})
		}
	}
	for _, list := range [][]choice{n.jdks, n.workloads} {
		slices.SortFunc(list, func(a, b choice) int { return natural(a.Value, b.Value) })
	}
	return n, nil
}

// checked is what is known about a draft before it is submitted.
type checked struct {
	Problems []draftProblem
	// Combinations of the product, LeftOut what cannot run of it, Notes where names come from.
	Combinations   uint64
	LeftOut, Notes []string
	Estimate       estimate
}

// draftProblem is one thing that is wrong with a draft.
type draftProblem struct {
	// Line of the YAML from 1; 0 where it was not written as YAML.
	Line    int    `json:"line,omitempty"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// prepare reads the text of a campaign as `misstep campaign submit` does.
func (s *Site) prepare(ctx context.Context, text string, known names) (*misstepv1.SubmitCampaignRequest, []string, error) {
	return submission.Prepare(ctx, s.Own, []byte(text), "campaign", submission.Shared{Entries: known.shared})
}

// check validates the text of a campaign as `misstep campaign submit` does.
func (s *Site) check(ctx context.Context, text string, known names) (checked, error) {
	request, notes, err := s.prepare(ctx, text, known)
	if err != nil {
		return checked{Problems: problemsOf(err)}, nil
	}
	response, err := s.shared.CheckCampaign(ctx, &misstepv1.CheckCampaignRequest{Submission: request})
	switch {
	case status.Code(err) == codes.InvalidArgument || status.Code(err) == codes.FailedPrecondition:
		return checked{Problems: problemsOf(err)}, nil
	case err != nil:
		return checked{}, err
	}
	all, err := s.admin.ListCampaigns(ctx, &misstepv1.ListCampaignsRequest{})
	if err != nil {
		return checked{}, err
	}
	return checked{
		Combinations: response.GetCombinations(), LeftOut: response.GetSkipped(), Notes: notes,
		Estimate: estimateOf(request.GetCampaign(), response.GetCombinations(), all.GetCampaigns()),
	}, nil
}

func problemsOf(err error) []draftProblem {
	var problems []draftProblem
	if file, ok := errors.AsType[*campaign.FileError](err); ok {
		for _, p := range file.Problems {
			problems = append(problems, draftProblem{p.Line, p.Field, p.Message})
		}
		return problems
	}
	for line := range strings.Lines(app.Message(err)) {
		problems = append(problems, draftProblem{Message: strings.TrimSpace(line)})
	}
	return problems
}

// estimate of what a campaign takes.
type estimate struct {
	// Like is the campaign at whose rate it would run; nil when none can be compared.
	Like *misstepv1.CampaignStatus
	// Trials of its budget, or those that its time allows; Each of these for each combination. 0 when they are not known.
	Trials uint64
	Each   float64
	// Time until its end, and for each combination once; 0 when it is not known.
	Time, Pass time.Duration
}

// enoughTrials is the number of trials from which on the rate of a campaign says something.
const enoughTrials = 10

// estimateOf compares a campaign with the newest one that had a workload of it, else with the newest one.
func estimateOf(c *misstepv1.Campaign, combinations uint64, all []*misstepv1.CampaignStatus) estimate {
	e := estimate{Trials: c.GetBudget().GetTrials(), Time: c.GetBudget().GetTime().AsDuration()}
	runs := func(w *misstepv1.CampaignWorkload) bool {
		return slices.ContainsFunc(c.GetWorkloads(), func(mine *misstepv1.CampaignWorkload) bool {
			return mine.GetName() == w.GetName()
		})
	}
	for _, one := range all {
		if station.Finished(one) < enoughTrials || one.GetTrialsPerSecond() <= 0 {
			continue
		}
		if slices.ContainsFunc(one.GetCampaign().GetWorkloads(), runs) {
			e.Like = one
			break
		}
		e.Like = cmp.Or(e.Like, one)
	}
	if rate := e.Like.GetTrialsPerSecond(); rate > 0 {
		lasting := func(trials uint64) time.Duration {
			return time.Duration(min(float64(trials)/rate*float64(time.Second), math.MaxInt64/2))
		}
		e.Pass = lasting(combinations)
		if within := uint64(rate * e.Time.Seconds()); e.Time > 0 && (e.Trials == 0 || within < e.Trials) {
			e.Trials = within
		} else {
			e.Time = lasting(e.Trials)
		}
	}
	if combinations > 0 {
		e.Each = float64(e.Trials) / float64(combinations)
	}
	return e
}

// draftJSON is the JSON of a draft.
type draftJSON struct {
	YAML         string         `json:"yaml"`
	Problems     []draftProblem `json:"problems"`
	Combinations uint64         `json:"combinations"`
	LeftOut      []string       `json:"left_out"`
	Notes        []string       `json:"notes"`
	Trials       uint64         `json:"trials"`
	Seconds      float64        `json:"seconds"`
	LikeCampaign string         `json:"like_campaign,omitempty"`
}

func (d *draftPage) json() draftJSON {
	return draftJSON{
		d.YAML, d.Problems, d.Combinations, d.LeftOut, d.Notes, d.Estimate.Trials, d.Estimate.Time.Seconds(),
		d.Estimate.Like.GetId(),
	}
}

func (d *draftPage) csv() [][]string {
	rows := [][]string{{"line", "field", "problem"}}
	for _, p := range d.Problems {
		rows = append(rows, []string{fmt.Sprint(p.Line), p.Field, p.Message})
	}
	return rows
}
