package scoped

import (
	"strings"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// Retest implements store.Tx.
func (t *Seen) Retest(id string) (*misstepv1.Retest, error) {
	r, err := t.Tx.Retest(id)
	if err == nil {
		err = t.load()
	}
	switch {
	case err != nil:
		return nil, err
	case t.hides(r.GetFindingId()):
		return nil, noRow("retest", id)
	}
	return r, nil
}

// Retests implements store.Tx.
func (t *Seen) Retests(findings ...string) ([]*misstepv1.Retest, error) {
	all, err := t.Tx.Retests(findings...)
	return show(t, all, err, func(r *misstepv1.Retest) bool { return t.hides(r.GetFindingId()) })
}

// reproduction returns one that names no hidden findings.
func (t *Seen) reproduction(r *misstepv1.Reproduction) *misstepv1.Reproduction {
	others := t.named(r.GetOthers())
	fits := t.named(r.GetReproducer().GetFinding().GetFits())
	if t.changes || len(others) == len(r.GetOthers()) && len(fits) == len(r.GetReproducer().GetFinding().GetFits()) {
		return r
	}
	r = misstepv1.Shallow(r)
	r.Others = others
	if r.GetReproducer().GetFinding() != nil {
		r.Reproducer = misstepv1.Shallow(r.GetReproducer())
		r.Reproducer.Finding = misstepv1.Shallow(r.GetReproducer().GetFinding())
		r.Reproducer.Finding.Fits = fits
	}
	return r
}

// Reproduction implements store.Tx.
func (t *Seen) Reproduction(id string) (*misstepv1.Reproduction, error) {
	r, err := t.Tx.Reproduction(id)
	if err == nil {
		err = t.load()
	}
	switch {
	case err != nil:
		return nil, err
	case t.hides(r.GetSpec().GetFindingId()):
		return nil, noRow("reproduction", id)
	}
	return t.reproduction(r), nil
}

// Reproductions implements store.Tx.
func (t *Seen) Reproductions(runningOnly bool) ([]*misstepv1.Reproduction, error) {
	all, err := t.Tx.Reproductions(runningOnly)
	all, err = show(t, all, err, func(r *misstepv1.Reproduction) bool { return t.hides(r.GetSpec().GetFindingId()) })
	for i, r := range all {
		all[i] = t.reproduction(r)
	}
	return all, err
}

// probing reports whether a campaign is one of probes that have to do with a hidden finding. Its trials have recipes that show it.
func (t *Seen) probing(campaign string) (bool, error) {
	if !t.hidden || !strings.HasPrefix(campaign, store.ReproductionPrefix) {
		return false, nil
	}
	if t.probes == nil {
		all, err := t.Tx.Reproductions(false)
		if err != nil {
			return false, err
		}
		retests, err := t.Tx.Retests()
		if err != nil {
			return false, err
		}
		t.probes = map[string]bool{}
		for _, r := range all {
			t.probes[r.GetId()] = t.hides(r.GetSpec().GetFindingId())
		}
		for _, r := range retests {
			if id, _, _ := strings.Cut(r.GetId(), "/"); t.hides(r.GetFindingId()) {
				t.probes[id] = true
			}
		}
	}
	return t.probes[campaign], nil
}
