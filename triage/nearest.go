package triage

import (
	"cmp"
	"math"
	"slices"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// Fits is the score from which two findings may be the same: all but one of the compared features agree.
const Fits = 0.6

// feature is one thing in which findings are compared. What two findings have in common counts by what it says about their cause
// (see tokens of likeness.go): nearly every crash is a SIGSEGV of a Java thread outside of a VM operation.
type feature struct {
	name string
	// tokens of its value.
	tokens []token
	// weight of the feature if its tokens are characteristic; the weights of one kind of finding add up to 1.
	weight float64
}

// Nearest compares a finding with others and returns those that have something characteristic in common with it, nearest first, at
// most most of them. The features are: for a mismatch the check, the kind, the place and the methods around it; for a crash the
// parts of its signature; for a hang its cause, its places and the names of its threads; for a failure its reason and its message.
// The score is the share of what is known of both that is equal; what nearly every finding has, and what is unknown in either,
// counts little or nothing. Each reason lists what is equal and what differs. The finding itself and findings of another kind are
// left out; so are buckets of assorted failures (see Assorted), which are like nothing. Each finding's example gives the methods;
// without one they count as different.
func Nearest(f *misstepv1.Finding, others []*misstepv1.Finding, most int) []*misstepv1.NearFinding {
	all := make([]Features, len(others))
	for i, o := range others {
		all[i] = FeaturesOf(o)
	}
	return FeaturesOf(f).Nearest(all, most)
}

// Features are what Nearest compares of a finding.
type Features struct {
	id, title, kind string
	assorted        bool
	features        []feature
}

// FeaturesOf returns the features of a finding, which has its example.
func FeaturesOf(f *misstepv1.Finding) Features {
	out := Features{id: f.GetId(), title: f.GetTitle(), kind: f.GetSignature().GetKind()}
	if _, out.assorted = Assorted(f.GetSignature()); !out.assorted {
		out.features = features(f)
	}
	return out
}

// Nearest is the function Nearest for findings whose features are known.
func (f Features) Nearest(others []Features, most int) []*misstepv1.NearFinding {
	if f.assorted {
		return nil
	}
	var out []*misstepv1.NearFinding
	for _, o := range others {
		if o.id == f.id || o.kind != f.kind || o.assorted {
			continue
		}
		if n, related := near(f.features, o.features); related {
			n.Id, n.Title = o.id, o.title
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b *misstepv1.NearFinding) int {
		return cmp.Or(cmp.Compare(b.GetScore(), a.GetScore()), cmp.Compare(a.GetId(), b.GetId()))
	})
	return out[:min(most, len(out))]
}

// near compares the features of two findings. related reports whether a characteristic token is common to both.
func near(mine, theirs []feature) (n *misstepv1.NearFinding, related bool) {
	n = &misstepv1.NearFinding{}
	var same, differ []string
	whole := 0.0
	for i, m := range mine[:min(len(mine), len(theirs))] {
		c := compare(m.tokens, theirs[i].tokens)
		related = related || c.characteristic
		if c.all == 0 { // nothing that says anything, or unknown
			continue
		}
		weight := m.weight * c.most
		whole += weight
		n.Score += weight * c.both / c.all
		switch c.both {
		case c.all:
			same = append(same, m.name)
		case 0:
			differ = append(differ, m.name)
		default:
			differ = append(differ, m.name+" in part")
		}
	}
	if whole > 0 {
		n.Score = math.Round(n.GetScore()/whole*1000) / 1000
	}
	var reason []string
	if len(same) > 0 {
		reason = append(reason, "same "+strings.Join(same, ", "))
	}
	if len(differ) > 0 {
		reason = append(reason, "differs in "+strings.Join(differ, ", "))
	}
	n.Reason = strings.Join(reason, "; ")
	return n, related
}

func features(f *misstepv1.Finding) []feature {
	s, err := signature.Read(f.GetSignature())
	if err != nil {
		return nil // written by a newer Misstep
	}
	switch s := s.(type) {
	case signature.Mismatch:
		return []feature{
			{"check", []token{common(s.Check)}, 0.15},
			{"kind", []token{common(s.Difference)}, 0.2},
			{"place", placeTokens(s.Place), 0.45},
			{"methods around it", around(f), 0.2},
		}
	case signature.Crash:
		return []feature{
			{"error", errorTokens(s.Error), 0.3},
			{"frame", frameTokens(s.Frame), 0.3},
			{"walker", walkerTokens(s.Walker), 0.3},
			{"thread", value(s.Thread), 0.05},
			{"VM operation", value(s.Operation), 0.05},
		}
	case signature.Hang:
		return []feature{
			{"cause", value(s.Cause), 0.1},
			{"places", waiterPlaces(s.Waiters), 0.8},
			{"threads", waiterNames(s.Waiters), 0.1},
		}
	case signature.Failure:
		return []feature{{"reason", value(s.Reason), 0.1}, {"message", messageTokens(s.Message), 0.9}}
	}
	return nil
}

// around returns the methods within three frames of where the example's two stacks part, and the state of its top frame.
func around(f *misstepv1.Finding) []token {
	m := Shown(f.GetExample(), f.GetSignature())
	if m == nil {
		return []token{characteristic(f.GetId())} // equal to nothing
	}
	facts := examine(m)
	out := []token{common("state " + facts.State)}
	for i := facts.Divergence - 3; i <= facts.Divergence+3; i++ {
		if fr := facts.reference.fromBottom(i); fr != nil {
			out = append(out, characteristic(fr.name()))
		}
	}
	return out
}

// Shown returns the smallest mismatch of an outcome that has the signature and still has its stacks; nil when there is none.
func Shown(o *misstepv1.Outcome, s *misstepv1.Signature) *misstepv1.Mismatch {
	var best *misstepv1.Mismatch
	size := func(m *misstepv1.Mismatch) int {
		return len(m.GetReference().GetFrames()) + len(m.GetSuspect().GetFrames())
	}
	for _, m := range o.GetMismatches() {
		if len(m.GetReference().GetFrames()) == 0 || best != nil && size(m) >= size(best) {
			continue
		}
		if sig, _ := Mismatch(m); signature.Same(sig, s) {
			best = m
		}
	}
	return best
}
