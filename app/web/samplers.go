package web

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"misstep/coordinator/queue"
	"misstep/internal/interval"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/signature"
)

// maxCompared bounds the findings that are compared by sampler: those with the most hits.
const maxCompared = 500

// samplersPage compares the walkers and samplers.
type samplersPage struct {
	Now      time.Time
	Samplers []sampler
	// Bugs by the samplers that have them.
	Bugs []samplerBug
	// Signals of all campaigns, sent and answered.
	Signals *misstepv1.SignalCount
	Total   uint64
}

// sampler is a walker or sampler with the checks that judge it.
type sampler struct {
	Name   string
	Checks []checkRow
	// Wrong of Judged verdicts are mismatches; Low and High are the ends of the 95 % interval of the share.
	Wrong, Judged uint64
	Low, High     float64
	// Unusable verdicts are unwalkable or void: nothing was compared.
	Unusable, Total uint64
	Bar             bar
}

// samplerBug is a bug, or a new finding, and which samplers show it.
type samplerBug struct {
	ID, Title string
	Known     bool
	// Hits by sampler, in the order of the page's samplers.
	Hits []uint64
}

func (s *Site) samplers(r *http.Request) (*page, error) {
	campaigns, err := s.admin.ListCampaigns(r.Context(), &misstepv1.ListCampaignsRequest{})
	if err != nil {
		return nil, err
	}
	found, err := s.admin.ListFindings(r.Context(), &misstepv1.ListFindingsRequest{
		Kind: signature.KindMismatch, Sort: "hits", PageSize: maxCompared,
	})
	if err != nil {
		return nil, err
	}
	p := samplersPage{Now: s.Clock(), Signals: &misstepv1.SignalCount{}, Total: found.GetTotal()}
	var counts []*misstepv1.CheckCount
	for _, c := range campaigns.GetCampaigns() {
		p.Signals = queue.AddSignals(p.Signals, c.GetSignals())
		counts = queue.AddChecks(counts, c.GetChecks())
	}
	p.Samplers = samplersOf(counts)
	p.Bugs = p.bugsOf(found.GetFindings())
	return &page{
		template: "samplers", title: "Samplers", data: p, json: p.json(), csv: p.csv(), live: true,
	}, nil
}

// samplersOf groups checks by what they judge, in the order of the table of checks.
func samplersOf(counts []*misstepv1.CheckCount) []sampler {
	var all []sampler
	for _, check := range recipe.Checks() {
		n := slices.IndexFunc(counts, func(c *misstepv1.CheckCount) bool { return c.GetCheck() == check.Name })
		if n < 0 || counts[n].GetTotal() == 0 || check.Suspect == "" {
			continue
		}
		c := counts[n]
		i := slices.IndexFunc(all, func(s sampler) bool { return s.Name == check.Suspect })
		if i < 0 {
			i = len(all)
			all = append(all, sampler{Name: check.Suspect})
		}
		row := checkRowOf(c)
		one := &all[i]
		one.Checks = append(one.Checks, row)
		one.Wrong += c.GetMismatch()
		one.Total += c.GetTotal()
		for _, v := range row.Verdicts {
			if v.Name == "unwalkable" || v.Name == "void" {
				one.Unusable += v.N
			}
		}
	}
	most := 0.0
	for i, one := range all {
		all[i].Judged = one.Total - min(one.Total, one.Unusable)
		all[i].Low, all[i].High = interval.Wilson(one.Wrong, all[i].Judged)
		most = max(most, all[i].High)
	}
	for i, one := range all {
		all[i].Bar = barOf(one.Wrong, one.Judged, one.Low, one.High, most)
	}
	return all
}

// bugsOf says which samplers show which bug, by the checks of its findings.
func (p samplersPage) bugsOf(findings []*misstepv1.Finding) []samplerBug {
	var all []samplerBug
	for _, f := range findings {
		check, ok := recipe.FindCheck(signature.CheckOf(f.GetSignature()))
		column := slices.IndexFunc(p.Samplers, func(s sampler) bool { return s.Name == check.Suspect })
		if !ok || column < 0 {
			continue
		}
		id := cmp.Or(f.GetKnownAs(), f.GetId())
		i := slices.IndexFunc(all, func(b samplerBug) bool { return b.ID == id })
		if i < 0 {
			i = len(all)
			all = append(all, samplerBug{
				ID: id, Title: f.GetTitle(), Known: f.GetKnownAs() != "", Hits: make([]uint64, len(p.Samplers)),
			})
		}
		all[i].Hits[column] += f.GetHits()
	}
	return all
}

func (p samplersPage) json() any {
	type one struct {
		Name     string  `json:"name"`
		Judged   uint64  `json:"judged"`
		Wrong    uint64  `json:"wrong"`
		Low      float64 `json:"low"`
		High     float64 `json:"high"`
		Unusable uint64  `json:"unusable"`
		Checks   []raw   `json:"checks"`
	}
	list := []one{}
	for _, s := range p.Samplers {
		var checks []raw
		for _, c := range s.Checks {
			checks = append(checks, raw{c.CheckCount})
		}
		list = append(list, one{s.Name, s.Judged, s.Wrong, s.Low, s.High, s.Unusable, checks})
	}
	return list
}

func (p samplersPage) csv() [][]string {
	rows := [][]string{{"sampler", "check", "total", "match", "mismatch", "tolerated", "unwalkable", "void"}}
	for _, s := range p.Samplers {
		for _, c := range s.Checks {
			row := []string{s.Name, c.GetCheck(), number(c.GetTotal())}
			for _, name := range []string{"match", "mismatch", "tolerated", "unwalkable", "void"} {
				i := slices.IndexFunc(c.Verdicts, func(v counted) bool { return v.Name == name })
				row = append(row, number(c.Verdicts[i].N))
			}
			rows = append(rows, row)
		}
	}
	return rows
}
