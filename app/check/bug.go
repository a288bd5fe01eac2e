package check

import (
	"slices"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
	"misstep/triage"
)

// grown is a bug while its findings are added.
type grown struct {
	Bug
	harm map[string]*harm // by check
}

// harm counts the samples of one check that a bug spoils.
type harm struct{ wrong, cut uint64 }

// add adds a finding, with the mismatches that it is.
func (b *grown) add(o *misstepv1.Outcome, h triage.Hit) {
	b.Findings = with(b.Findings, h.ID)
	found := false
	for _, m := range o.GetMismatches() {
		if s, _ := triage.Mismatch(m); signature.ID(s) != h.ID {
			continue
		}
		found = true
		n := max(m.GetCount(), 1)
		b.Count += n
		b.Checks, b.Kinds = with(b.Checks, m.GetCheck()), with(b.Kinds, m.GetKind())
		done := b.harm[m.GetCheck()]
		if done == nil {
			done = &harm{}
			b.harm[m.GetCheck()] = done
		}
		if m.GetKind() == cutOff {
			done.cut += n
		} else {
			done.wrong += n
		}
	}
	if !found {
		b.Count++
		b.Kinds = with(b.Kinds, misstepv1.OutcomeName(o.GetKind()))
	}
}

// finish sets the shares of the samples by check that the bug spoils.
func (b *grown) finish(samples map[string]uint64) Bug {
	for check, done := range b.harm {
		wrong, cut := share(done.wrong, samples[check]), share(done.cut, samples[check])
		if wrong+cut > b.Wrong+b.CutOff {
			b.Wrong, b.CutOff = wrong, cut
		}
	}
	slices.Sort(b.Findings)
	slices.Sort(b.Checks)
	slices.Sort(b.Kinds)
	return b.Bug
}

// with adds an element to a list that lacks it.
func with(list []string, x string) []string {
	if slices.Contains(list, x) {
		return list
	}
	return append(list, x)
}
