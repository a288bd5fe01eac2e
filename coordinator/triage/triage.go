// Package triage says which outcomes are the same: it gives each mismatch, crash and hang a signature made of what belongs to
// the bug, with everything left out that only belongs to the run.
//
// All functions are pure. What the parts of a signature are, and how they are written, is package signature's.
package triage

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/proto"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// Hit is one signature that an outcome shows.
type Hit struct {
	// ID of the finding.
	ID        string
	Signature *misstepv1.Signature
	// Title in one line for people, as specific as the example; two hits with the same signature may have different titles.
	Title string
	// Weight is the number of frames of the smallest observation: the smaller, the better an example.
	Weight int
	// mismatch is the index of that observation in the outcome, -1 for a crash or hang.
	mismatch int
}

// Triage returns the signatures that an outcome shows, each once, ordered by ID. A clean or void outcome or an application
// failure without observations shows none.
func Triage(o *misstepv1.Outcome) []Hit {
	hits := map[string]Hit{}
	add := func(h Hit) {
		h.ID = signature.ID(h.Signature)
		if old, ok := hits[h.ID]; !ok || h.Weight < old.Weight {
			hits[h.ID] = h
		}
	}
	for i, m := range o.GetMismatches() {
		sig, title := Mismatch(m)
		weight := len(m.GetReference().GetFrames()) + len(m.GetSuspect().GetFrames())
		add(Hit{Signature: sig, Title: title, Weight: weight, mismatch: i})
	}
	if c := o.GetCrash(); c != nil {
		sig, title := Crash(c)
		add(Hit{Signature: sig, Title: title, Weight: len(c.GetNativeFrames()) + len(c.GetJavaFrames()), mismatch: -1})
	}
	if h := o.GetHang(); h != nil {
		sig, title := Hang(h)
		weight := 0
		for _, t := range h.GetThreads() {
			weight += len(t.GetNativeFrames()) + len(t.GetJavaFrames())
		}
		add(Hit{Signature: sig, Title: title, Weight: weight, mismatch: -1})
	}
	out := make([]Hit, 0, len(hits))
	for _, h := range hits {
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b Hit) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// Void says that an outcome which does not show the finding that was looked for proves nothing of it either: it is void, or its
// JVM ended badly before any check took anything. A JVM that did not start, for a flag that its build does not know or an agent
// that it does not bear, is no proof that a bug is not there. A crash or hang without any check asked for counts: nothing else
// could be seen.
func Void(o *misstepv1.Outcome) bool {
	took := slices.ContainsFunc(o.GetChecks(), func(c *misstepv1.CheckCount) bool { return c.GetTotal() > 0 })
	switch o.GetKind() {
	case misstepv1.OutcomeKind_OUTCOME_KIND_VOID:
		return true
	case misstepv1.OutcomeKind_OUTCOME_KIND_APPLICATION_FAILURE:
		return !took
	case misstepv1.OutcomeKind_OUTCOME_KIND_CRASH, misstepv1.OutcomeKind_OUTCOME_KIND_HANG:
		return len(o.GetChecks()) > 0 && !took
	}
	return false
}

// Idle says of a void outcome that its JVM ran to a good end all the same, under what perturbation was asked for: its checks
// had nothing to compare, or the perturbation nothing to do. A try of a recipe that ends so has not shown what it was made to
// show.
func Idle(o *misstepv1.Outcome) bool {
	return o.GetKind() == misstepv1.OutcomeKind_OUTCOME_KIND_VOID && o.GetExitCode() == 0 && o.GetSignal() == 0 &&
		o.GetPerturbation().GetEjected() == ""
}

// Slim returns an outcome without the stacks that nobody needs twice: of the mismatches with the same signature only the
// smallest keeps its own. Counts and everything else stay; the evidence in the corpus has all of it. The argument is not
// changed.
func Slim(o *misstepv1.Outcome, hits []Hit) *misstepv1.Outcome {
	o = proto.CloneOf(o)
	keep := map[int]bool{}
	for _, h := range hits {
		keep[h.mismatch] = true
	}
	for i, m := range o.GetMismatches() {
		if !keep[i] {
			m.Stack = nil
			for _, t := range []*misstepv1.Trace{m.GetReference(), m.GetSuspect()} {
				if t != nil {
					t.Frames = nil
				}
			}
		}
	}
	return o
}
