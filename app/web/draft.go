package web

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/deploy/jdk/preset"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// draftPage is a campaign that somebody writes: in fields, or in YAML as a whole. What was written is in the page's address.
type draftPage struct {
	// Whole reports that the YAML is what is written.
	Whole bool
	YAML  string
	// What stands in the fields.
	Name, Description, Seed, Flags, Trials, Time string
	Lists                                        []choices
	Random, Private                              bool
	// Begun reports that something was written; nothing is checked before.
	Begun bool
	checked
	// Submit reports that the visitor may submit it here, Place how a command does.
	Submit bool
	Place  string
}

// choices is a list of which any number is chosen.
type choices struct {
	// Name of the parameter, Legend what is chosen, Hint what it means to choose none.
	Name, Legend, Hint string
	All                []choice
}

// maxDraft is the length of the YAML of a draft, which has to fit into an address.
const maxDraft = 16 << 10

func (s *Site) draft(r *http.Request) (*page, error) {
	q := r.URL.Query()
	d := draftPage{
		Whole: q.Has("yaml"), YAML: q.Get("yaml"), Begun: len(q) > 0, Place: s.Place,
		Submit: visitOf(r.Context()).may(misstepv1.Role_ROLE_HUNTER),
	}
	if len(d.YAML) > maxDraft {
		return nil, status.Errorf(codes.InvalidArgument, "yaml: expected at most %d bytes, got %d; submit it with the command "+
			"line: misstep campaign submit FILE %s", maxDraft, len(d.YAML), s.Place)
	}
	known, err := s.names(r.Context())
	if err != nil {
		return nil, err
	}
	if !d.Whole {
		d.fill(q, known)
	}
	if d.Begun {
		spec, problems := d.campaign(q)
		switch {
		case len(problems) > 0:
			d.Problems = problems
		case !d.Whole:
			if d.YAML, err = yamlOf(spec); err != nil {
				return nil, err
			}
			fallthrough
		default:
			if d.checked, err = s.check(r.Context(), d.YAML, known); err != nil {
				return nil, err
			}
		}
	}
	return &page{template: "draft", title: "New campaign", data: d, json: d.json(), csv: d.csv()}, nil
}

// fill puts what was written into the fields.
func (d *draftPage) fill(q url.Values, known names) {
	d.Name, d.Description, d.Flags = q.Get("name"), q.Get("description"), q.Get("flags")
	d.Seed, d.Trials, d.Time = q.Get("seed"), q.Get("trials"), q.Get("time")
	d.Random, d.Private = q.Get("strategy") == "random", q.Get("private") != ""
	if !d.Begun {
		d.Seed, d.Trials = strconv.FormatUint(uint64(rand.Uint32()), 10), "1000" //nolint:gosec // it keeps nothing secret
	}
	var sets, checks []choice
	sets = append(sets, choice{Value: noFlags, Label: "no flags"})
	for _, p := range preset.All() {
		sets = append(sets, choice{Value: p.Name, Label: p.Name})
	}
	for _, c := range recipe.Checks() {
		checks = append(checks, choice{Value: c.Name, Label: c.Name})
	}
	d.Lists = []choices{
		{"jdk", "JDKs", "at least one", known.jdks},
		{"workload", "Workloads", "at least one", known.workloads},
		{"flags-of", "Flag sets", "none: no flags", sets},
		{"check", "Checks", "none: all that can do any work", checks},
	}
	for _, list := range d.Lists {
		chosen := q[list.Name]
		for i := range list.All {
			list.All[i].Chosen = slices.Contains(chosen, list.All[i].Value)
		}
	}
}

// noFlags is the flag set without flags.
const noFlags = "default"

// campaign is the one that the fields describe, or what is wrong in them; nil for one that is written as a whole.
func (d *draftPage) campaign(q url.Values) (*misstepv1.Campaign, []draftProblem) {
	if d.Whole {
		return nil, nil
	}
	var problems []draftProblem
	count := func(field string) uint64 {
		n, err := strconv.ParseUint(q.Get(field), 10, 64)
		if err != nil && q.Get(field) != "" {
			problems = append(problems, draftProblem{Field: field, Message: fmt.Sprintf("expected a number, got %q", q.Get(field))})
		}
		return n
	}
	c := &misstepv1.Campaign{
		Name: d.Name, Description: d.Description, Seed: count("seed"), Jdks: q["jdk"], PrivateFindings: d.Private,
		Budget: &misstepv1.Budget{Trials: count("trials")},
	}
	if d.Time != "" {
		most, err := time.ParseDuration(d.Time)
		if err != nil {
			problems = append(problems, draftProblem{
				Field: "time", Message: fmt.Sprintf("expected a time such as 90m, got %q", d.Time),
			})
		}
		c.Budget.Time = durationpb.New(most)
	}
	if d.Random {
		c.Strategy = misstepv1.Strategy_STRATEGY_RANDOM
	}
	for _, name := range q["workload"] {
		c.Workloads = append(c.Workloads, &misstepv1.CampaignWorkload{Name: name})
	}
	for _, name := range q["check"] {
		c.Checks = append(c.Checks, &misstepv1.Check{Name: name})
	}
	for _, name := range q["flags-of"] {
		set := &misstepv1.FlagSet{Preset: name}
		if name == noFlags {
			set = &misstepv1.FlagSet{Name: noFlags}
		}
		c.FlagSets = append(c.FlagSets, set)
	}
	for line := range strings.Lines(d.Flags) {
		if flags := strings.Fields(line); len(flags) > 0 {
			c.FlagSets = append(c.FlagSets, &misstepv1.FlagSet{Name: fmt.Sprintf("set%d", len(c.GetFlagSets())+1), Flags: flags})
		}
	}
	return c, problems
}

// submit submits the campaign of a draft that was checked, as it was shown.
func (s *Site) submit(ctx context.Context, r *http.Request) (string, error) {
	if !visitOf(ctx).may(misstepv1.Role_ROLE_HUNTER) { // the coordinator refuses it, and its audit log says so
		_, err := s.admin.SubmitCampaign(ctx, &misstepv1.SubmitCampaignRequest{})
		return "/campaigns", err
	}
	known, err := s.names(ctx)
	if err != nil {
		return "", err
	}
	request, _, err := s.prepare(ctx, r.PostFormValue("yaml"), known)
	if err != nil {
		return "", status.Error(codes.InvalidArgument, err.Error())
	}
	submitted, err := s.admin.SubmitCampaign(ctx, request)
	return "/campaigns/" + submitted.GetCampaignId(), err
}
