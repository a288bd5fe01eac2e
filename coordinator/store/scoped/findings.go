package scoped

import (
	"errors"
	"fmt"
	"slices"

	"misstep/coordinator/projects"
	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// ErrID is in the chain of the error of storing a row whose id would be taken for another project's key.
var ErrID = errors.New("an id must not begin with @")

func isNotFound(err error) bool { return errors.Is(err, store.ErrNotFound) }

func findingWithID(f *store.Finding, id string) *store.Finding {
	p := misstepv1.Shallow(f.Proto)
	p.Id = id
	return &store.Finding{Proto: p, Weight: f.Weight}
}

// PutFinding implements store.Tx.
func (t *Tx) PutFinding(f *store.Finding) error {
	if t.prefix == "" {
		return t.Tx.PutFinding(f)
	}
	return t.Tx.PutFinding(findingWithID(f, t.key(f.Proto.GetId())))
}

// Finding implements store.Tx.
func (t *Tx) Finding(id string) (*store.Finding, error) {
	if projects.IsKey(id) {
		return nil, noRow("finding", id)
	}
	f, err := t.Tx.Finding(t.key(id))
	switch {
	case err != nil:
		return nil, t.lacks(err, "finding", id)
	case t.prefix == "":
		return f, nil
	}
	return findingWithID(f, id), nil
}

// Findings implements store.Tx.
func (t *Tx) Findings() ([]*store.Finding, error) {
	all, err := t.Tx.Findings()
	return own(t, all, err, func(f *store.Finding) string { return f.Proto.GetId() }, findingWithID)
}

func countOf(c rates.Count, campaign string) rates.Count {
	c.Campaign = campaign
	return c
}

func campaignOfCount(c rates.Count) string { return c.Campaign }

// Counts implements store.Tx.
func (t *Tx) Counts() ([]rates.Count, error) {
	all, err := t.Tx.Counts()
	return own(t, all, err, campaignOfCount, countOf)
}

// Hits implements store.Tx.
func (t *Tx) Hits(findings ...string) ([]rates.Count, error) {
	findings = slices.DeleteFunc(slices.Clone(findings), projects.IsKey)
	all, err := t.Tx.Hits(t.keys(findings)...)
	return own(t, all, err, campaignOfCount, countOf)
}

// Log implements store.Tx. It is the store's own where all of it is the default project's, whose keys are the ids.
func (t *Tx) Log() (*rates.Log, error) {
	all, err := t.Tx.Log()
	if err != nil {
		return nil, err
	}
	foreign := func(tally rates.Tally) bool { return projects.IsKey(tally.Campaign) }
	if t.prefix == "" && !slices.ContainsFunc(all.Tallies, foreign) {
		return all, nil
	}
	return all.Filter(func(c rates.Combination) (rates.Combination, bool) {
		id, ok := t.id(c.Campaign)
		c.Campaign = id
		return c, ok
	}, func(findings []string) ([]string, bool) {
		ids := t.ids(findings)
		return ids, len(ids) > 0
	}), nil
}

// Shown implements store.Tx. A trial shows findings of its own project only.
func (t *Tx) Shown() ([]rates.Shown, error) {
	all, err := t.Tx.Shown()
	return own(t, all, err, func(s rates.Shown) string { return s.Campaign }, func(s rates.Shown, id string) rates.Shown {
		s.Campaign, s.Findings = id, t.ids(s.Findings)
		return s
	})
}

// decision returns one with other names of its findings.
func decision(d *misstepv1.TriageDecision, finding, into string) *misstepv1.TriageDecision {
	d = misstepv1.Shallow(d)
	d.Finding, d.Into = finding, into
	return d
}

// AddDecision implements store.Tx. Decisions of all projects are numbered together.
func (t *Tx) AddDecision(d *misstepv1.TriageDecision) (uint64, error) {
	return t.Tx.AddDecision(decision(d, t.key(d.GetFinding()), t.key(d.GetInto())))
}

// PutDecision implements store.Tx.
func (t *Tx) PutDecision(d *misstepv1.TriageDecision) error {
	all, err := t.Decisions()
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(other *misstepv1.TriageDecision) bool { return other.GetId() == d.GetId() }) {
		return noRow("decision", d.GetFinding())
	}
	return t.Tx.PutDecision(decision(d, t.key(d.GetFinding()), t.key(d.GetInto())))
}

// Decisions implements store.Tx.
func (t *Tx) Decisions() ([]*misstepv1.TriageDecision, error) {
	all, err := t.Tx.Decisions()
	return own(t, all, err, (*misstepv1.TriageDecision).GetFinding,
		func(d *misstepv1.TriageDecision, finding string) *misstepv1.TriageDecision {
			_, into := projects.Split(d.GetInto())
			return decision(d, finding, into)
		})
}

func bugWithID(b *misstepv1.KnownBug, id string) *misstepv1.KnownBug {
	b = misstepv1.Shallow(b)
	b.Id = id
	return b
}

// PutKnownBug implements store.Tx.
func (t *Tx) PutKnownBug(b *misstepv1.KnownBug) error {
	if projects.IsKey(b.GetId()) { // people choose these ids
		return fmt.Errorf("known bug %q: %w", b.GetId(), ErrID)
	}
	return t.Tx.PutKnownBug(bugWithID(b, t.key(b.GetId())))
}

// DeleteKnownBug implements store.Tx.
func (t *Tx) DeleteKnownBug(id string) error {
	if projects.IsKey(id) {
		return nil
	}
	return t.Tx.DeleteKnownBug(t.key(id))
}

// KnownBugs implements store.Tx.
func (t *Tx) KnownBugs() ([]*misstepv1.KnownBug, error) {
	all, err := t.Tx.KnownBugs()
	return own(t, all, err, (*misstepv1.KnownBug).GetId, bugWithID)
}
