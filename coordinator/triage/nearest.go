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

// feature is one thing in which findings are compared.
type feature struct {
	name string
	// tokens of its value; the similarity of two values is the share of common tokens.
	tokens []string
	// weight of the feature; the weights of one kind of finding add up to 1.
	weight float64
}

// Nearest compares a finding with others and returns those that have anything in common with it, nearest first, at most most of
// them. The features are: for a mismatch the check, the kind, the place and the methods around it; for a crash the parts of its
// signature; for a hang its cause and its waiters. Each reason lists what is equal and what differs. The finding itself and
// findings of another kind are left out; so are buckets of assorted failures (see Assorted), which are like nothing. Each
// finding's example gives the methods; without one they count as different.
func Nearest(f *misstepv1.Finding, others []*misstepv1.Finding, most int) []*misstepv1.NearFinding {
	if _, assorted := Assorted(f.GetSignature()); assorted {
		return nil
	}
	mine := features(f)
	var out []*misstepv1.NearFinding
	for _, o := range others {
		if o.GetId() == f.GetId() || o.GetSignature().GetKind() != f.GetSignature().GetKind() {
			continue
		}
		if _, assorted := Assorted(o.GetSignature()); assorted {
			continue
		}
		if n := near(mine, features(o)); n.GetScore() > 0 {
			n.Id, n.Title = o.GetId(), o.GetTitle()
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b *misstepv1.NearFinding) int {
		return cmp.Or(cmp.Compare(b.GetScore(), a.GetScore()), cmp.Compare(a.GetId(), b.GetId()))
	})
	return out[:min(most, len(out))]
}

func near(mine, theirs []feature) *misstepv1.NearFinding {
	n := &misstepv1.NearFinding{}
	var same, differ []string
	for i, m := range mine {
		if i >= len(theirs) {
			break
		}
		s := jaccard(m.tokens, theirs[i].tokens)
		n.Score += m.weight * s
		switch {
		case s == 1:
			same = append(same, m.name)
		case s > 0:
			differ = append(differ, m.name+" in part")
		default:
			differ = append(differ, m.name)
		}
	}
	n.Score = math.Round(n.GetScore()*1000) / 1000
	var reason []string
	if len(same) > 0 {
		reason = append(reason, "same "+strings.Join(same, ", "))
	}
	if len(differ) > 0 {
		reason = append(reason, "differs in "+strings.Join(differ, ", "))
	}
	n.Reason = strings.Join(reason, "; ")
	return n
}

func features(f *misstepv1.Finding) []feature {
	s, err := signature.Read(f.GetSignature())
	if err != nil {
		return nil // written by a newer Misstep
	}
	switch s := s.(type) {
	case signature.Mismatch:
		return []feature{
			{"check", []string{s.Check}, 0.15},
			{"kind", []string{s.Difference}, 0.2},
			{"place", tokens(s.Place), 0.45},
			{"methods around it", around(f), 0.2},
		}
	case signature.Crash:
		return []feature{
			{"error", []string{s.Error}, 0.15},
			{"frame", []string{s.Frame}, 0.35},
			{"walker", steps(s.Walker), 0.3},
			{"thread", []string{s.Thread}, 0.1},
			{"VM operation", []string{s.Operation}, 0.1},
		}
	case signature.Hang:
		return []feature{{"cause", []string{s.Cause}, 0.35}, {"places", s.Waiters, 0.65}}
	}
	return nil
}

// tokens splits a place into its names.
func tokens(p signature.Place) []string {
	if p.Kind == signature.Edge {
		return []string{p.Method, p.Caller}
	}
	return strings.Fields(p.String())
}

// steps returns the tokens of a crash's walker; the absence of a walker is a token, too.
func steps(walker []string) []string {
	switch len(walker) {
	case 0:
		return []string{"none"}
	case 1:
		return strings.Fields(walker[0])
	}
	return walker
}

// around returns the methods within three frames of where the example's two stacks part, and the state of its top frame.
func around(f *misstepv1.Finding) []string {
	m := Shown(f.GetExample(), f.GetSignature())
	if m == nil {
		return nil
	}
	facts := examine(m)
	out := []string{"state " + facts.State}
	for i := facts.Divergence - 3; i <= facts.Divergence+3; i++ {
		if fr := facts.reference.fromBottom(i); fr != nil {
			out = append(out, fr.name())
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

// jaccard returns the share of tokens that two sets have in common (Jaccard index); 0 for two empty sets.
func jaccard(a, b []string) float64 {
	union := map[string]int{}
	for _, t := range a {
		union[t] |= 1
	}
	for _, t := range b {
		union[t] |= 2
	}
	if len(union) == 0 {
		return 0
	}
	both := 0
	for _, in := range union {
		if in == 3 {
			both++
		}
	}
	return float64(both) / float64(len(union))
}
