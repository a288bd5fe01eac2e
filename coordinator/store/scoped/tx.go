// Package scoped keeps the projects that share a coordinator apart: In gives a transaction that sees and writes the rows of one
// project, whatever ids it is asked for, so no code above it has to ask whose a row is.
//
// The project is part of the keys under which a store keeps rows (see package projects): campaigns, findings, decisions, known
// bugs, reproductions, schedules and retests have it in theirs, and so has everything that names them: jobs, leases, trials, hits
// and counts. Inside of a message, and above In, ids are always plain: a finding's id depends on its signature only, in whichever
// projects it is found. The shared catalogue, tokens, grants, what workers note and repetitions of
// trials are of no project, and pass.
package scoped

import (
	"fmt"
	"time"

	"misstep/coordinator/projects"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// Tx is a transaction in one project. What it does not change passes to the transaction below.
type Tx struct {
	store.Tx
	project string
	prefix  string
}

// In returns a transaction in a project, above one of the whole store. Of a transaction in a project it returns one in the other:
// which project it is, is for the caller to know, and callers of services never choose it (see package coordinator).
func In(tx store.Tx, project string) *Tx {
	return &Tx{Tx: Whole(tx), project: project, prefix: projects.Key(project, "")}
}

// Whole returns the transaction of the whole store that one is above.
func Whole(tx store.Tx) store.Tx {
	switch t := tx.(type) {
	case *Tx:
		return t.Tx
	case *Seen:
		return t.Tx.Tx
	}
	return tx
}

// At returns a transaction in the project of a key, and the id. Of an id and a transaction in a project it returns both.
func At(tx store.Tx, key string) (*Tx, string) {
	if !projects.IsKey(key) {
		switch t := tx.(type) {
		case *Tx:
			return t, key
		case *Seen:
			return t.Tx, key
		}
	}
	project, id := projects.Split(key)
	return In(tx, project), id
}

// Project returns the project.
func (t *Tx) Project() string { return t.project }

func (t *Tx) key(id string) string { return t.prefix + id }

// id returns the id of a key; false for a key of another project.
func (t *Tx) id(key string) (string, bool) {
	project, id := projects.Split(key)
	return id, project == t.project
}

// own returns the elements of the project; change returns an element with its ids instead of keys.
func own[R any](t *Tx, all []R, err error, key func(R) string, change func(R, string) R) ([]R, error) {
	if err != nil {
		return nil, err
	}
	kept := all[:0]
	for _, r := range all {
		k := key(r)
		if id, ok := t.id(k); ok {
			if id != k {
				r = change(r, id)
			}
			kept = append(kept, r)
		}
	}
	clear(all[len(kept):])
	return kept, nil
}

func withID(c *store.Campaign, id string) *store.Campaign {
	other := *c
	other.ID = id
	return &other
}

// PutCampaign implements store.Tx.
func (t *Tx) PutCampaign(c *store.Campaign) error { return t.Tx.PutCampaign(withID(c, t.key(c.ID))) }

// Campaign implements store.Tx.
func (t *Tx) Campaign(id string) (*store.Campaign, error) {
	if projects.IsKey(id) {
		return nil, noRow("campaign", id)
	}
	c, err := t.Tx.Campaign(t.key(id))
	if err != nil {
		return nil, t.lacks(err, "campaign", id)
	}
	return withID(c, id), nil
}

// Campaigns implements store.Tx.
func (t *Tx) Campaigns(runningOnly bool) ([]*store.Campaign, error) {
	all, err := t.Tx.Campaigns(runningOnly)
	return own(t, all, err, func(c *store.Campaign) string { return c.ID }, withID)
}

func ofCampaign(j store.Job, id string) store.Job {
	j.Campaign = id
	return j
}

// PutJob implements store.Tx.
func (t *Tx) PutJob(j store.Job) error { return t.Tx.PutJob(ofCampaign(j, t.key(j.Campaign))) }

// DeleteJob implements store.Tx.
func (t *Tx) DeleteJob(campaign string, index uint64) error {
	return t.Tx.DeleteJob(t.key(campaign), index)
}

// Jobs implements store.Tx.
func (t *Tx) Jobs(campaign string) ([]store.Job, error) {
	if projects.IsKey(campaign) {
		return nil, nil
	}
	all, err := t.Tx.Jobs(t.key(campaign))
	return own(t, all, err, func(j store.Job) string { return j.Campaign }, ofCampaign)
}

// ReadyJobs implements store.Tx.
func (t *Tx) ReadyJobs(f store.ReadyFilter) ([]store.Job, error) {
	if projects.IsKey(f.Campaign) {
		return nil, nil
	}
	f.Campaign = t.key(f.Campaign)
	all, err := t.Tx.ReadyJobs(f)
	return own(t, all, err, func(j store.Job) string { return j.Campaign }, ofCampaign)
}

// CountJobs implements store.Tx.
func (t *Tx) CountJobs(campaign string) (uint64, error) {
	if projects.IsKey(campaign) {
		return 0, nil
	}
	return t.Tx.CountJobs(t.key(campaign))
}

// leaseOf returns a lease whose job is of the campaign with that id.
func leaseOf(l *store.Lease, campaign string) *store.Lease {
	other := *l
	other.Job.Campaign = campaign
	return &other
}

func campaignOf(l *store.Lease) string { return l.Job.Campaign }

// Enter returns a transaction in the project of a lease of the whole store, and the lease with the id of its campaign.
func Enter(tx store.Tx, l *store.Lease) (*Tx, *store.Lease) {
	in, id := At(tx, l.Job.Campaign)
	return in, leaseOf(l, id)
}

// PutLease implements store.Tx.
func (t *Tx) PutLease(l *store.Lease) error { return t.Tx.PutLease(leaseOf(l, t.key(l.Job.Campaign))) }

// Lease implements store.Tx.
func (t *Tx) Lease(id string) (*store.Lease, error) {
	l, err := t.Tx.Lease(id)
	if err != nil {
		return nil, err
	}
	campaign, ok := t.id(l.Job.Campaign)
	if !ok {
		return nil, noRow("lease", id)
	}
	return leaseOf(l, campaign), nil
}

// Leases implements store.Tx.
func (t *Tx) Leases(f store.LeaseFilter) ([]*store.Lease, error) {
	if projects.IsKey(f.Campaign) {
		return nil, nil
	}
	if f.Campaign != "" {
		f.Campaign = t.key(f.Campaign)
	}
	every := f
	every.Limit = 0 // others' leases may be among the first
	all, err := t.Tx.Leases(every)
	all, err = own(t, all, err, campaignOf, leaseOf)
	if f.Limit > 0 && err == nil {
		all = f.Earliest(all)
	}
	return all, err
}

// ExtendLeases implements store.Tx.
func (t *Tx) ExtendLeases(deadline time.Time) error {
	all, err := t.Leases(store.LeaseFilter{})
	if err != nil {
		return err
	}
	for _, l := range all {
		if l.Deadline.Before(deadline) {
			l.Deadline = deadline
			if err := t.PutLease(l); err != nil {
				return err
			}
		}
	}
	return nil
}

// CountLeases implements store.Tx.
func (t *Tx) CountLeases(campaign string) (uint64, error) {
	if projects.IsKey(campaign) {
		return 0, nil
	}
	return t.Tx.CountLeases(t.key(campaign))
}

// AddTrial implements store.Tx.
func (t *Tx) AddTrial(trial *store.Trial) error {
	other := *trial
	other.Campaign, other.FindingIDs = t.key(trial.Campaign), t.keys(trial.FindingIDs)
	return t.Tx.AddTrial(&other)
}

// Trials implements store.Tx.
func (t *Tx) Trials(campaign string, after uint64, limit int) ([]*store.Trial, error) {
	if projects.IsKey(campaign) {
		return nil, nil
	}
	all, err := t.Tx.Trials(t.key(campaign), after, limit)
	if err != nil {
		return nil, err
	}
	for i, trial := range all {
		other := *trial
		other.Campaign, other.FindingIDs = campaign, t.ids(trial.FindingIDs)
		all[i] = &other
	}
	return all, nil
}

// keys returns the keys of ids.
func (t *Tx) keys(ids []string) []string {
	if t.prefix == "" || len(ids) == 0 {
		return ids
	}
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = t.key(id)
	}
	return all
}

// ids returns the ids of those keys that are of the project.
func (t *Tx) ids(keys []string) []string {
	all := make([]string, 0, len(keys))
	for _, k := range keys {
		if id, ok := t.id(k); ok {
			all = append(all, id)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

func noRow(what, id string) error { return fmt.Errorf("%s %q: %w", what, id, store.ErrNotFound) }

// lacks returns the error of a read, without the key if there is no such row.
func (t *Tx) lacks(err error, what, id string) error {
	if t.prefix != "" && isNotFound(err) {
		return noRow(what, id)
	}
	return err
}

// DueSchedules implements store.Tx.
func (t *Tx) DueSchedules(now time.Time) ([]*misstepv1.Schedule, error) {
	all, err := t.Tx.DueSchedules(now)
	return own(t, all, err, (*misstepv1.Schedule).GetId, scheduleWithID)
}
