package web

import (
	"net/http"

	"misstep/bundle"
	misstepv1 "misstep/proto/misstep/v1"
)

// comparePage shows in what two findings differ.
type comparePage struct {
	A, B *misstepv1.Finding
	// Stacks that differ; where none does, SameStacks says so.
	Stacks     []comparedStack
	SameStacks string
	Changes    []comparedPart
	// Triage reports that the visitor may merge them here.
	Triage bool
}

// comparedStack is one kind of stack of both findings' examples.
type comparedStack struct {
	Name, Left, Right string
	Rows              []stackRow
	// Differ is the number of rows that do.
	Differ int
}

// comparedPart is a part of two findings in which some fields differ.
type comparedPart struct {
	Name string
	List []bundle.Change
}

func (s *Site) compare(r *http.Request) (*page, error) {
	p := comparePage{}
	for id, into := range map[string]**misstepv1.Finding{"id": &p.A, "other": &p.B} {
		response, err := s.admin.GetFinding(r.Context(), &misstepv1.GetFindingRequest{FindingId: r.PathValue(id)})
		if err != nil {
			return nil, err
		}
		*into = response.GetFinding()
	}
	d, err := bundle.Compare(p.A, p.B)
	if err != nil {
		return nil, err
	}
	rows := [][]string{{"part", "field", "difference", p.A.GetId(), p.B.GetId()}}
	for _, change := range d.Stacks {
		one := comparedStack{Name: "Stacks of " + change.Side}
		one.Left, one.Right, one.Rows = rowsOf(change.A, change.B)
		for _, row := range one.Rows {
			if row.Differs != "" {
				one.Differ++
			}
			rows = append(rows, []string{"stack", change.Side, row.Differs, row.Left, row.Right})
		}
		p.Stacks = append(p.Stacks, one)
	}
	if len(p.Stacks) == 0 {
		p.SameStacks = "Their examples have the same stacks, or none."
	}
	p.Changes = []comparedPart{{"Identity", d.Finding}, {"Recipe of the example", d.Recipe}}
	for _, part := range p.Changes {
		for _, c := range part.List {
			rows = append(rows, []string{part.Name, c.Field, "", c.A, c.B})
		}
	}
	p.Triage = visitOf(r.Context()).may(misstepv1.Role_ROLE_TRIAGER) && p.A.GetId() != p.B.GetId()
	return &page{template: "compare", title: p.A.GetId() + " and " + p.B.GetId(), data: p, json: d, csv: rows}, nil
}
