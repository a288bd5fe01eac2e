package scoped

import (
	"errors"
	"slices"
	"time"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	"misstep/coordinator/visibility"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/triage"
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

// HiddenOutcome is the outcome, in the tally of a campaign, of trials that ended with any of the outcomes that show findings, where
// one of these is hidden.
const HiddenOutcome = "hidden"

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
	return t.finding(f)
}

// finding returns one that names neither hidden ones nor their probes.
func (t *Seen) finding(f *store.Finding) (*store.Finding, error) {
	if t.changes || !t.hidden {
		return f, nil
	}
	campaigns, err := ofSeen(t, slices.Clone(f.Proto.GetCampaigns()), nil, func(id string) string { return id })
	if err != nil {
		return nil, err
	}
	p := misstepv1.Shallow(f.Proto)
	p.Fits, p.Campaigns = t.named(f.Proto.GetFits()), campaigns
	return &store.Finding{Proto: p, Weight: f.Weight}, nil
}

// Findings implements store.Tx.
func (t *Seen) Findings() ([]*store.Finding, error) {
	all, err := t.Tx.Findings()
	if all, err = show(t, all, err, func(f *store.Finding) bool { return t.hides(f.Proto.GetId()) }); err != nil {
		return nil, err
	}
	for i, f := range all {
		if all[i], err = t.finding(f); err != nil {
			return nil, err
		}
	}
	return all, nil
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
	all, err := t.Tx.Hits(t.named(findings)...)
	return ofSeen(t, all, err, campaignOfCount)
}

// ofSeen returns the counts of campaigns that the reader sees.
func ofSeen[R any](t *Seen, all []R, err error, campaign func(R) string) ([]R, error) {
	if err != nil {
		return nil, err
	}
	kept := all[:0]
	for _, r := range all {
		hidden, err := t.probing(campaign(r))
		if err != nil {
			return nil, err
		}
		if !hidden {
			kept = append(kept, r)
		}
	}
	return kept, nil
}

// Log implements store.Tx.
func (t *Seen) Log() (*rates.Log, error) {
	all, err := t.Tx.Log()
	if err == nil {
		err = t.load()
	}
	if err != nil || !t.hidden {
		return all, err
	}
	shown := all.Filter(func(c rates.Combination) (rates.Combination, bool) {
		hidden, failed := t.probing(c.Campaign)
		err = errors.Join(err, failed)
		return c, !hidden
	}, func(findings []string) ([]string, bool) {
		ids := t.named(findings)
		return ids, len(ids) > 0
	})
	return shown, err
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
	return ofSeen(t, all, nil, func(s rates.Shown) string { return s.Campaign })
}
