package view

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"misstep/coordinator/store"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/triage"
)

// Groups are the stored findings, one for each signature, grouped by the users' decisions about which of them are the same.
type Groups struct {
	triage.Grouping
	// Rows are the stored findings by id.
	Rows map[string]*misstepv1.Finding
	// Own is the store's own catalogue of known bugs, and OwnBugs its entries by id.
	Own     known.Catalogue
	OwnBugs map[string]*misstepv1.KnownBug
	// catalogue stands for what is in Own; weights are those of the stored findings' examples.
	catalogue string
	weights   map[string]int
}

// LoadGroups reads the findings, the decisions and the store's own known bugs.
func LoadGroups(tx store.Tx) (Groups, error) {
	decisions, err := tx.Decisions()
	if err != nil {
		return Groups{}, err
	}
	all, err := tx.Findings()
	if err != nil {
		return Groups{}, err
	}
	g := Groups{
		Grouping: triage.NewGrouping(decisions), Rows: make(map[string]*misstepv1.Finding, len(all)),
		weights: make(map[string]int, len(all)),
	}
	for _, f := range all {
		g.Rows[f.Proto.GetId()], g.weights[f.Proto.GetId()] = f.Proto, f.Weight
	}
	bugs, err := tx.KnownBugs()
	if err != nil {
		return Groups{}, err
	}
	if g.Own, err = known.Own(bugs); err != nil {
		return Groups{}, fmt.Errorf("the store's known bugs: %w", err)
	}
	g.OwnBugs = make(map[string]*misstepv1.KnownBug, len(bugs))
	digest := sha256.New()
	for _, b := range bugs {
		g.OwnBugs[b.GetId()] = b
		text, err := proto.MarshalOptions{Deterministic: true}.Marshal(b)
		if err != nil {
			return Groups{}, fmt.Errorf("the store's known bugs: %w", err)
		}
		_, _ = fmt.Fprintf(digest, "%d %s", len(text), text) // never fails
	}
	g.catalogue = string(digest.Sum(nil))
	return g, nil
}

// shallow returns a finding as it is stored, which may be changed although its messages are shared.
func shallow(f *misstepv1.Finding) *misstepv1.Finding {
	return &misstepv1.Finding{
		Id: f.GetId(), Signature: f.GetSignature(), Title: f.GetTitle(), FirstSeen: f.GetFirstSeen(), LastSeen: f.GetLastSeen(),
		Example: f.GetExample(), ExampleRecipe: f.GetExampleRecipe(), Campaigns: slices.Clip(f.GetCampaigns()),
		Fits: slices.Clone(f.GetFits()), FormerIds: f.GetFormerIds(), ReportedBy: slices.Clip(f.GetReportedBy()),
	}
}

// Findings returns the findings with their aliases folded in, most recently seen first. Hits of aliases are not added up here,
// since one trial may have shown several: see trials.
func (g Groups) Findings() []*misstepv1.Finding {
	var out []*misstepv1.Finding
	for id := range g.Rows {
		if g.Head(id) != id {
			continue
		}
		out = append(out, g.finding(id))
	}
	slices.SortFunc(out, func(a, b *misstepv1.Finding) int {
		return cmp.Or(b.GetLastSeen().AsTime().Compare(a.GetLastSeen().AsTime()), cmp.Compare(a.GetId(), b.GetId()))
	})
	return out
}

// finding returns the one to which others were merged, with these folded in.
func (g Groups) finding(head string) *misstepv1.Finding {
	f := shallow(g.Rows[head])
	for _, a := range g.Aliases(head) {
		if alias := g.Rows[a]; alias != nil {
			fold(f, alias)
		}
	}
	f.Fits = slices.DeleteFunc(f.GetFits(), func(other string) bool { return g.Head(other) == head })
	return f
}

func fold(f, alias *misstepv1.Finding) {
	if len(alias.GetReportedBy()) == 0 || len(f.GetReportedBy()) == 0 { // of an older version: somebody unknown
		f.ReportedBy = append(f.ReportedBy, "")
	}
	for _, owner := range alias.GetReportedBy() {
		if !slices.Contains(f.GetReportedBy(), owner) {
			f.ReportedBy = append(f.ReportedBy, owner)
		}
	}
	f.Aliases = append(f.Aliases, alias.GetId())
	if alias.GetFirstSeen().AsTime().Before(f.GetFirstSeen().AsTime()) {
		f.FirstSeen = alias.GetFirstSeen()
	}
	if alias.GetLastSeen().AsTime().After(f.GetLastSeen().AsTime()) {
		f.LastSeen = alias.GetLastSeen()
	}
	for _, c := range alias.GetCampaigns() {
		if !slices.Contains(f.GetCampaigns(), c) {
			f.Campaigns = append(f.Campaigns, c)
		}
	}
}
