// Package triage decides which outcomes are the same: it gives each mismatch, crash, hang and failure that is a finding a
// signature that contains what belongs to the bug and omits what only belongs to the run.
//
// All functions are pure. Package signature defines the parts of a signature and their text.
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
	ID string
	// FormerID is the id that earlier versions gave to the same report, empty if they gave it this one.
	FormerID  string
	Signature *misstepv1.Signature
	// Title describes the example in one line; two hits with the same signature may have different titles.
	Title string
	// Weight is the number of frames of the smallest observation: the smaller, the better an example.
	Weight int
	// mismatch is the index of that observation in the outcome, -1 for others.
	mismatch int
}

// Example returns an outcome of which the hit is as an example of the hit's finding: other findings' mismatches are left out.
func (h Hit) Example(o *misstepv1.Outcome) *misstepv1.Outcome {
	if h.mismatch < 0 {
		return Only(o, nil)
	}
	m := o.GetMismatches()[h.mismatch]
	if len(m.GetReference().GetFrames()) == 0 {
		m = cmp.Or(Shown(o, h.Signature), m)
	}
	return Only(o, proto.CloneOf(m))
}

// Only returns an outcome with one of its mismatches, which is shared, or with none if that is nil.
func Only(o *misstepv1.Outcome, m *misstepv1.Mismatch) *misstepv1.Outcome {
	only := misstepv1.Shallow(o)
	only.Mismatches = nil
	only = proto.CloneOf(only)
	if m != nil {
		only.Mismatches = []*misstepv1.Mismatch{m}
	}
	return only
}

// CutOff counts the mismatches of an outcome that lack their bottom, by check; nil when there is none.
func CutOff(o *misstepv1.Outcome) map[string]uint64 {
	var cut map[string]uint64
	for _, m := range o.GetMismatches() {
		if m.GetKind() != "truncated" {
			continue
		}
		if cut == nil {
			cut = map[string]uint64{}
		}
		cut[m.GetCheck()] += max(m.GetCount(), 1)
	}
	return cut
}

// Triage returns the signatures that an outcome shows, each once, ordered by ID. A clean or void outcome shows none, and an
// application failure only where its recipe makes it a finding.
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
		add(Hit{Signature: sig, Title: title, Weight: weight(m), mismatch: i})
	}
	if c := o.GetCrash(); c != nil {
		sig, title := Crash(c)
		add(Hit{Signature: sig, Title: title, Weight: len(c.GetNativeFrames()) + len(c.GetJavaFrames()), mismatch: -1})
	}
	if h := o.GetHang(); h != nil {
		weight := 0
		for _, t := range h.GetThreads() {
			weight += len(t.GetNativeFrames()) + len(t.GetJavaFrames())
		}
		for _, hit := range Hangs(h) {
			hit.Weight = weight
			add(hit)
		}
	}
	if f := o.GetApplicationFailure(); f.GetFinding() {
		sig, title := Failure(f)
		add(Hit{Signature: sig, Title: title, mismatch: -1})
	}
	out := make([]Hit, 0, len(hits))
	for _, h := range hits {
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b Hit) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// Void reports whether an outcome that does not show the finding looked for proves nothing about it: the outcome is void, or its
// JVM failed before any check observed anything. A JVM that did not start, because of a flag that its build does not know or an
// agent that it does not support, does not prove that a bug is absent. A crash or hang of a recipe without checks counts, since
// nothing else can be observed there.
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

// Idle reports whether an outcome is void although its JVM completed normally, under the requested perturbation: its checks had
// nothing to compare, or the perturbation had nothing to do. Such a try did not show what its recipe was made to show.
func Idle(o *misstepv1.Outcome) bool {
	return o.GetKind() == misstepv1.OutcomeKind_OUTCOME_KIND_VOID && o.GetExitCode() == 0 && o.GetSignal() == 0 &&
		o.GetPerturbation().GetEjected() == ""
}

// Slim returns an outcome without redundant stacks: of the mismatches with the same signature only the smallest keeps its stacks.
// Counts and everything else are kept; the evidence in the corpus is complete. The argument is not changed; the result shares the
// messages in it.
func Slim(o *misstepv1.Outcome, hits []Hit) *misstepv1.Outcome {
	o = misstepv1.Shallow(o)
	keep := map[int]bool{}
	for _, h := range hits {
		keep[h.mismatch] = true
	}
	o.Mismatches = slices.Clone(o.GetMismatches())
	for i, m := range o.GetMismatches() {
		if !keep[i] {
			o.Mismatches[i] = bare(m)
			o.Mismatches[i].Stack = nil
		}
	}
	return o
}

// bare copies a mismatch but for the frames of its traces, which may be most of it; the copy shares the messages in it.
func bare(m *misstepv1.Mismatch) *misstepv1.Mismatch {
	m = misstepv1.Shallow(m)
	m.Reference, m.Suspect = withoutFrames(m.GetReference()), withoutFrames(m.GetSuspect())
	return m
}

func withoutFrames(t *misstepv1.Trace) *misstepv1.Trace {
	if t == nil {
		return nil
	}
	t = misstepv1.Shallow(t)
	t.Frames = nil
	return t
}
