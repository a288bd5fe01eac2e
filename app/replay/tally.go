package replay

import (
	"cmp"
	"fmt"
	"slices"

	"misstep/internal/interval"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
	"misstep/triage"
)

// Shows returns a predicate that reports whether a hit is the finding's: of its own signature, of a finding merged into it, or,
// where an older version of triage wrote the signature, of the one that its example has today. Otherwise the bug would look fixed.
func Shows(f *misstepv1.Finding) func(triage.Hit) bool {
	ids := slices.Concat(f.GetAliases(), []string{f.GetId()})
	is := func(h triage.Hit) bool {
		return signature.Same(h.Signature, f.GetSignature()) || slices.ContainsFunc(ids, func(id string) bool {
			return signature.HasID(h.Signature, id) // a bundle may be older than the ids of today
		})
	}
	today := triage.Triage(f.GetExample())
	if slices.ContainsFunc(today, is) {
		return is
	}
	today = slices.DeleteFunc(today, func(h triage.Hit) bool { return h.Signature.GetKind() != f.GetSignature().GetKind() })
	if len(today) != 1 { // ambiguous
		return is
	}
	return func(h triage.Hit) bool { return is(h) || h.ID == today[0].ID }
}

// Tally counts the outcomes of tries. Tries are runs that could have shown the finding: not the void ones.
type Tally struct {
	Hits   int            `json:"hits"`
	Tries  int            `json:"tries"`
	Others map[string]int `json:"others"` // other outcomes by finding id or kind

	lastVoid string // why the last void try proved nothing
}

// Count counts one outcome as hit, other or void, and reports whether it was a hit. shown is what Shows returns.
func (t *Tally) Count(outcome *misstepv1.Outcome, shown func(triage.Hit) bool) bool {
	hit := false
	for _, found := range triage.Triage(outcome) {
		if shown(found) {
			hit = true
		} else {
			t.Others[found.ID]++
		}
	}
	if hit {
		t.Hits++
	}
	if !hit && triage.Void(outcome) {
		t.Others["void"]++
		t.lastVoid = outcome.GetReason()
		return false
	}
	t.Tries++
	if k := outcome.GetKind(); !hit && k == misstepv1.OutcomeKind_OUTCOME_KIND_APPLICATION_FAILURE {
		t.Others[misstepv1.OutcomeName(k)]++
	}
	return hit
}

// tried is Count that also says in words whether the finding was shown: mismatches of others are none of it.
func (t *Tally) tried(outcome *misstepv1.Outcome, shown func(triage.Hit) bool) (hit bool, text string) {
	before := t.Tries
	switch hit = t.Count(outcome, shown); {
	case hit:
		return true, "reproduced"
	case t.Tries == before:
		return false, "void, which proves nothing: " + cmp.Or(outcome.GetReason(), "nothing was compared")
	}
	return false, fmt.Sprintf("not reproduced (%s)", misstepv1.OutcomeName(outcome.GetKind()))
}

// SoFar says what tries showed of a finding before they were interrupted.
func (t *Tally) SoFar(finding string) string {
	if t.Tries == 0 {
		return "no try had shown whether " + finding + " is there"
	}
	low, high := t.Interval()
	return fmt.Sprintf("%s in %d of %d tries (95 %% interval %.2f–%.2f)", finding, t.Hits, t.Tries, low, high)
}

// AllVoid returns the error for a tally whose tries were all void.
func (t *Tally) AllVoid() error {
	return fmt.Errorf("no try proved anything: every one was void, the last as %s", cmp.Or(t.lastVoid, "nothing was compared"))
}

// Interval is the 95 % Wilson interval of hits/tries.
func (t *Tally) Interval() (low, high float64) {
	return interval.Wilson(uint64(t.Hits), uint64(t.Tries))
}

// Reliability is the tally as a bundle keeps it.
func (t *Tally) Reliability() *misstepv1.Reliability {
	low, high := t.Interval()
	return &misstepv1.Reliability{Hits: uint32(t.Hits), Tries: uint32(t.Tries), Low: low, High: high}
}
