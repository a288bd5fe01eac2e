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

// byFinding returns the mismatches of each finding.
func byFinding(all []*misstepv1.Mismatch) map[string][]*misstepv1.Mismatch {
	of := map[string][]*misstepv1.Mismatch{}
	for _, m := range all {
		s, _ := triage.Mismatch(m)
		id := signature.ID(s)
		of[id] = append(of[id], m)
	}
	return of
}

// add adds a finding of an outcome, with the mismatches that it is.
func (b *grown) add(o *misstepv1.Outcome, id string, mismatches []*misstepv1.Mismatch) {
	b.Findings = with(b.Findings, id)
	for _, m := range mismatches {
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
	if len(mismatches) == 0 {
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
