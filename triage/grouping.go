package triage

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
)

// Kinds of decisions.
const (
	DecisionMerge = "merge"
	DecisionSplit = "split"
	DecisionNote  = "note"
)

// Grouping records which findings users merged. In the zero value none are merged. Signatures are never rewritten: a grouping is
// computed from the decisions that are not undone, so undoing one restores exactly what was before, and outcomes that arrived in
// between are where they belong.
type Grouping struct {
	// head of each finding that is an alias.
	head map[string]string
}

// NewGrouping applies decisions in order, except undone ones. A decision that has lost its object because an earlier one was undone
// does nothing.
func NewGrouping(decisions []*misstepv1.TriageDecision) Grouping {
	g := Grouping{head: map[string]string{}}
	for _, d := range decisions {
		if d.GetUndone() != nil || g.Check(d) != nil {
			continue
		}
		switch d.GetKind() {
		case DecisionMerge:
			from, into := g.Head(d.GetFinding()), g.Head(d.GetInto())
			for _, a := range g.Aliases(from) {
				g.head[a] = into
			}
			g.head[from] = into
		case DecisionSplit:
			delete(g.head, d.GetFinding())
		}
	}
	return g
}

// Check returns why a decision would change nothing.
func (g Grouping) Check(d *misstepv1.TriageDecision) error {
	f := d.GetFinding()
	switch d.GetKind() {
	case DecisionMerge:
		if head := g.Head(f); head == g.Head(d.GetInto()) {
			if f == d.GetInto() {
				return fmt.Errorf("%s cannot be merged into itself", f)
			}
			return fmt.Errorf("%s and %s are already the same finding: %s", f, d.GetInto(), head)
		}
		return nil
	case DecisionSplit:
		if g.Head(f) != f {
			return nil
		}
		if len(g.Aliases(f)) > 0 {
			return fmt.Errorf("other findings were merged into %s: split those off, or undo the merge", f)
		}
		return fmt.Errorf("%s is not merged: nothing was merged into it, and it was not merged into another finding", f)
	case DecisionNote:
		if strings.TrimSpace(d.GetReason()) == "" {
			return errors.New("the note has no text")
		}
		return nil
	}
	return errors.New("unknown decision " + d.GetKind())
}

// Head returns the finding to which an id belongs.
func (g Grouping) Head(id string) string {
	if h, ok := g.head[id]; ok {
		return h
	}
	return id
}

// Aliases returns the aliases of a head, sorted; none for a finding that is itself an alias.
func (g Grouping) Aliases(id string) []string {
	var out []string
	for a, h := range g.head {
		if h == id {
			out = append(out, a)
		}
	}
	slices.Sort(out)
	return out
}
