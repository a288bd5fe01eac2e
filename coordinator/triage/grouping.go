package triage

import (
	"errors"
	"fmt"
	"slices"

	misstepv1 "misstep/proto/misstep/v1"
)

// Kinds of decisions.
const (
	DecisionMerge = "merge"
	DecisionSplit = "split"
)

// Grouping says which findings people took for one. The zero value takes each for itself. Signatures are never rewritten: a
// grouping is computed from the decisions that stand, so taking one back gives exactly what was before, and outcomes that
// came in between are where they belong.
type Grouping struct {
	// head of each finding that is an alias.
	head map[string]string
}

// NewGrouping applies decisions in order, those taken back left out. A decision that has lost its object, because one before
// it was taken back, does nothing.
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

// Check says why a decision would change nothing.
func (g Grouping) Check(d *misstepv1.TriageDecision) error {
	f := d.GetFinding()
	switch d.GetKind() {
	case DecisionMerge:
		if head := g.Head(f); head == g.Head(d.GetInto()) {
			if f == d.GetInto() {
				return fmt.Errorf("%s cannot be merged into itself", f)
			}
			return fmt.Errorf("%s and %s are one finding already: %s", f, d.GetInto(), head)
		}
		return nil
	case DecisionSplit:
		if g.Head(f) != f {
			return nil
		}
		if len(g.Aliases(f)) > 0 {
			return fmt.Errorf("%s is what others were merged into: split those off, or undo the merge", f)
		}
		return fmt.Errorf("%s stands by itself: nothing was merged into it or it into another", f)
	}
	return errors.New("unknown decision " + d.GetKind())
}

// Head is the finding that an id counts for.
func (g Grouping) Head(id string) string {
	if h, ok := g.head[id]; ok {
		return h
	}
	return id
}

// Aliases of a head, sorted; none for a finding that is itself an alias.
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
