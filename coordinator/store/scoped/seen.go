package scoped

import (
	"slices"
	"strings"
	"time"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	"misstep/coordinator/triage"
	"misstep/coordinator/visibility"
	misstepv1 "misstep/proto/misstep/v1"
)

// Seen is a transaction in a project as somebody sees it from whom findings are hidden (see package visibility). A finding that is
// hidden is not there: neither are its decisions, hits, reproductions, retests and probes, and no list of ids has it. Above Seen no
// code asks who may see what.
//
// Trials that show a hidden finding are not there either. The tally of their campaign does not say what they showed: outcomes that
// may show a finding are counted together, and sums over trials are left out.
type Seen struct {
	*Tx
	reader visibility.Reader
	now    time.Time
	// changes is true for a transaction that writes: campaigns and reproductions are read whole then, as they are written whole.
	changes bool
	// state is read when it is needed for the first time.
	state *visibility.State
	// hidden is false when the reader sees every finding.
	hidden bool
	// probes are the campaigns of probes that are hidden; nil until they are needed.
	probes map[string]bool
}

// Restricted is the outcome, in the tally of a campaign, of trials that ended with any of the outcomes that show findings, where one
// of these is hidden.
const Restricted = "restricted"

// See returns a transaction of queries as a reader sees it.
func See(tx *Tx, r visibility.Reader, now time.Time) *Seen { return &Seen{Tx: tx, reader: r, now: now} }

// Change returns a transaction that may write, as a reader sees it.
func Change(tx *Tx, r visibility.Reader, now time.Time) *Seen {
	return &Seen{Tx: tx, reader: r, now: now, changes: true}
}

// load reads what is in force, unless that is known.
func (t *Seen) load() error {
	if t.state != nil {
		return nil
	}
	all, err := t.Tx.Visibilities()
	if err != nil {
		return err
	}
	var decisions []*misstepv1.TriageDecision
	if len(all) > 0 {
		if decisions, err = t.Tx.Decisions(); err != nil {
			return err
		}
	}
	s := visibility.New(all, triage.NewGrouping(decisions), t.now)
	t.state = &s
	t.hidden = t.reader.Abroad || s.Any(func(v *misstepv1.FindingVisibility) bool { return !t.reader.Sees(v) })
	return nil
}

// hides reports whether a finding is hidden.
func (t *Seen) hides(finding string) bool { return t.hidden && !t.reader.Sees(t.state.Of(finding)) }

// show returns the elements of a list that are about findings which the reader sees.
func show[R any](t *Seen, all []R, err error, hidden func(R) bool) ([]R, error) {
	if err == nil {
		err = t.load()
	}
	if err != nil || !t.hidden {
		return all, err
	}
	return slices.DeleteFunc(all, hidden), nil
}

// named returns the ids that the reader sees; the list itself when that is all of them.
func (t *Seen) named(ids []string) []string {
	if !t.hidden || !slices.ContainsFunc(ids, t.hides) {
		return ids
	}
	return slices.DeleteFunc(slices.Clone(ids), t.hides)
}

// Visibilities implements store.Tx.
func (t *Seen) Visibilities() ([]*misstepv1.FindingVisibility, error) {
	all, err := t.Tx.Visibilities()
	return show(t, all, err, func(v *misstepv1.FindingVisibility) bool { return t.hides(v.GetFindingId()) })
}

// Finding implements store.Tx.
func (t *Seen) Finding(id string) (*store.Finding, error) {
	if err := t.load(); err != nil {
		return nil, err
	}
	if t.hides(id) {
		return nil, noRow("finding", id)
	}
	f, err := t.Tx.Finding(id)
	if err != nil {
		return nil, err
	}
	return t.finding(f), nil
}

// finding returns one that names no hidden ones.
func (t *Seen) finding(f *store.Finding) *store.Finding {
	fits := t.named(f.Proto.GetFits())
	if t.changes || len(fits) == len(f.Proto.GetFits()) {
		return f
	}
	p := shallow(f.Proto)
	p.Fits = fits
	return &store.Finding{Proto: p, Weight: f.Weight}
}

// Findings implements store.Tx.
func (t *Seen) Findings() ([]*store.Finding, error) {
	all, err := t.Tx.Findings()
	all, err = show(t, all, err, func(f *store.Finding) bool { return t.hides(f.Proto.GetId()) })
	for i, f := range all {
		all[i] = t.finding(f)
	}
	return all, err
}

// Decisions implements store.Tx. Merged findings are seen together or not at all.
func (t *Seen) Decisions() ([]*misstepv1.TriageDecision, error) {
	all, err := t.Tx.Decisions()
	return show(t, all, err, func(d *misstepv1.TriageDecision) bool { return t.hides(d.GetFinding()) || t.hides(d.GetInto()) })
}

// KnownBugs implements store.Tx. What people wrote down in one project is not for others.
func (t *Seen) KnownBugs() ([]*misstepv1.KnownBug, error) {
	if t.reader.Abroad {
		return nil, nil
	}
	return t.Tx.KnownBugs()
}

// Hits implements store.Tx.
func (t *Seen) Hits(findings ...string) ([]rates.Count, error) {
	if err := t.load(); err != nil {
		return nil, err
	}
	return t.Tx.Hits(t.named(findings)...)
}

// LastHits implements store.Tx.
func (t *Seen) LastHits() ([]rates.Last, error) {
	all, err := t.Tx.LastHits()
	return show(t, all, err, func(l rates.Last) bool { return t.hides(l.Finding) })
}

// Shown implements store.Tx.
func (t *Seen) Shown() ([]rates.Shown, error) {
	all, err := t.Tx.Shown()
	if all, err = show(t, all, err, func(s rates.Shown) bool { return len(t.named(s.Findings)) == 0 }); err != nil {
		return nil, err
	}
	for i := range all {
		all[i].Findings = t.named(all[i].Findings)
	}
	return all, nil
}

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
	r = shallow(r)
	r.Others = others
	if r.GetReproducer().GetFinding() != nil {
		r.Reproducer = shallow(r.GetReproducer())
		r.Reproducer.Finding = shallow(r.GetReproducer().GetFinding())
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
