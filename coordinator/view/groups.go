package view

import (
	"cmp"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"misstep/coordinator/store"
	"misstep/coordinator/triage"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
)

// Groups are the stored findings, one for each signature, grouped by the users' decisions about which of them are the same.
type Groups struct {
	triage.Grouping
	// Rows are the stored findings by id.
	Rows map[string]*misstepv1.Finding
	// Own is the store's own catalogue of known bugs, and OwnBugs its entries by id.
	Own     known.Catalogue
	OwnBugs map[string]*misstepv1.KnownBug
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
	g := Groups{Grouping: triage.NewGrouping(decisions), Rows: make(map[string]*misstepv1.Finding, len(all))}
	for _, f := range all {
		g.Rows[f.Proto.GetId()] = f.Proto
	}
	bugs, err := tx.KnownBugs()
	if err != nil {
		return Groups{}, err
	}
	if g.Own, err = known.Own(bugs); err != nil {
		return Groups{}, fmt.Errorf("the store's known bugs: %w", err)
	}
	g.OwnBugs = make(map[string]*misstepv1.KnownBug, len(bugs))
	for _, b := range bugs {
		g.OwnBugs[b.GetId()] = b
	}
	return g, nil
}

// Findings returns the findings with their aliases folded in, most recently seen first. Hits of aliases are not added up here,
// since one trial may have shown several: see shown.
func (g Groups) Findings() []*misstepv1.Finding {
	var out []*misstepv1.Finding
	for id, row := range g.Rows {
		if g.Head(id) != id {
			continue
		}
		f := proto.CloneOf(row)
		for _, a := range g.Aliases(id) {
			if alias := g.Rows[a]; alias != nil {
				fold(f, alias)
			}
		}
		f.Fits = slices.DeleteFunc(f.GetFits(), func(other string) bool { return g.Head(other) == id })
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b *misstepv1.Finding) int {
		return cmp.Or(b.GetLastSeen().AsTime().Compare(a.GetLastSeen().AsTime()), cmp.Compare(a.GetId(), b.GetId()))
	})
	return out
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
