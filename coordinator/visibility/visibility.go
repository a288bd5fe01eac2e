// Package visibility says who sees a finding, from what was decided about it. It is computed from the time: nothing is stored when
// an embargo ends.
package visibility

import (
	"cmp"
	"slices"
	"time"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/triage"
)

// Hidden reports whether a finding is hidden from most of its project: it is private, or under an embargo that has not ended.
func Hidden(v *misstepv1.FindingVisibility, now time.Time) bool {
	switch v.GetVisibility() {
	case misstepv1.Visibility_VISIBILITY_PRIVATE:
		return true
	case misstepv1.Visibility_VISIBILITY_EMBARGOED:
		return now.Before(v.GetUntil().AsTime())
	}
	return false
}

// strictness orders decisions in force: an embargo that ends later is stricter, and being private has no end.
func strictness(a, b *misstepv1.FindingVisibility) int {
	return cmp.Or(cmp.Compare(a.GetVisibility(), b.GetVisibility()), a.GetUntil().AsTime().Compare(b.GetUntil().AsTime()))
}

// State is what is in force about the findings of a project. In the zero value each is seen by its project.
type State struct {
	grouping triage.Grouping
	// strictest decision by the head of its group, and the decision about each head itself.
	strictest, shared map[string]*misstepv1.FindingVisibility
}

// New returns what is in force of some decisions. The strictest about a finding, and those merged with it, holds for all of them;
// whether they are shared is decided by that about the finding which stays.
func New(all []*misstepv1.FindingVisibility, g triage.Grouping, now time.Time) State {
	s := State{g, map[string]*misstepv1.FindingVisibility{}, map[string]*misstepv1.FindingVisibility{}}
	for _, v := range all {
		head := g.Head(v.GetFindingId())
		switch {
		case Hidden(v, now):
			if old := s.strictest[head]; old == nil || strictness(v, old) > 0 {
				s.strictest[head] = v
			}
		case v.GetVisibility() == misstepv1.Visibility_VISIBILITY_SHARED && v.GetFindingId() == head:
			s.shared[head] = v
		}
	}
	return s
}

// Of returns what is in force about a finding; nil when its project sees it and nobody else.
func (s State) Of(finding string) *misstepv1.FindingVisibility {
	head := s.grouping.Head(finding)
	if v := s.strictest[head]; v != nil {
		return v
	}
	return s.shared[head]
}

// Any reports whether there is a finding about which something is in force for which f holds.
func (s State) Any(f func(*misstepv1.FindingVisibility) bool) bool {
	for _, all := range []map[string]*misstepv1.FindingVisibility{s.strictest, s.shared} {
		for _, v := range all {
			if f(v) {
				return true
			}
		}
	}
	return false
}

// Reader is whoever asks for findings.
type Reader struct {
	// Name of the caller; nobody has an empty one.
	Name string
	// Abroad means that the reader asks from another project.
	Abroad bool
}

// Sees reports whether the reader, who is no triager and no admin of the finding's project, sees a finding with what is in force
// about it.
func (r Reader) Sees(v *misstepv1.FindingVisibility) bool {
	switch {
	case v == nil:
		return !r.Abroad
	case v.GetVisibility() == misstepv1.Visibility_VISIBILITY_SHARED:
		return true
	}
	return r.Name != "" && slices.Contains(v.GetPeople(), r.Name)
}
