package batch

import (
	"errors"
	"maps"
	"slices"

	"misstep/coordinator/store"
)

// overlay is a transaction over another one. It keeps what it reads, and holds back what it writes until flush, so that a row that
// many calls change is written once and the changes of one call can be undone while those of the others stay.
//
// Campaigns, jobs, leases, trials and findings are held back; the kinds of rows that calls of runners seldom change are written
// through, and what is counted over trials is read through, after a flush. A call that wrote through cannot be undone by itself.
type overlay struct {
	through // rows that are read from and written to the store below

	// alone is true for a transaction of one update.
	alone bool

	journal   journal
	campaigns *table[string, *store.Campaign]
	// running is true when every running campaign is known, all when every campaign is.
	running, all bool
	jobs         *table[trialKey, store.Job]
	jobIndex     *jobIndex
	waiting      counts
	ready        map[readyKey]*readyPage
	leases       *table[string, *store.Lease]
	leaseIndex   *leaseIndex
	leased       counts
	// renewed are leases of which nothing but the deadline has changed.
	renewed map[string]bool
	// wholeRunners are those whose leases are all known.
	wholeRunners map[string]bool
	trials       []*store.Trial
	results      map[trialKey]bool // those in trials
	findings     *table[string, *store.Finding]
	// allFindings is true when every finding is known.
	allFindings bool
}

type trialKey struct {
	campaign string
	index    uint64
}

func newOverlay(tx store.Tx, alone bool) *overlay {
	o := &overlay{
		alone: alone, ready: map[readyKey]*readyPage{}, wholeRunners: map[string]bool{}, renewed: map[string]bool{},
		results:  map[trialKey]bool{},
		jobIndex: newJobIndex(), leaseIndex: newLeaseIndex(),
	}
	o.through = through{tx: tx, flush: o.flush}
	j := &o.journal
	o.campaigns, o.findings = newTable[string, *store.Campaign](j, nil), newTable[string, *store.Finding](j, nil)
	o.jobs, o.leases = newTable(j, o.jobIndex), newTable(j, o.leaseIndex)
	o.waiting, o.leased = newCounts(j, tx.CountJobs), newCounts(j, tx.CountLeases)
	return o
}

// keep ends a call whose changes stay.
func (o *overlay) keep() {
	o.journal.keep()
	o.wrote = false
}

// drop ends a call whose changes are undone. It reports whether it could undo them.
func (o *overlay) drop() (undone bool) {
	if o.wrote {
		return false
	}
	o.journal.drop()
	return true
}

// below notes an error of the store below other than those that callers distinguish: the transaction may be of no use after it.
func (t *through) below(err error) error {
	if err != nil && !errors.Is(err, store.ErrNotFound) && t.broken == nil {
		t.broken = err
	}
	return err
}

// flush writes everything that was held back.
func (o *overlay) flush() error {
	if o.broken != nil {
		return o.broken
	}
	return o.below(o.write())
}

func (o *overlay) write() error {
	granted, renewed, ended := o.leases.pending()
	newJobs, oldJobs, gone := o.jobs.pending()
	newCampaigns, campaigns, _ := o.campaigns.pending()
	newFindings, findings, _ := o.findings.pending()
	campaigns, findings = append(newCampaigns, campaigns...), append(newFindings, findings...)
	if len(granted)+len(renewed)+len(ended)+len(newJobs)+len(oldJobs)+len(gone)+len(campaigns)+len(findings)+len(o.trials) == 0 {
		return nil
	}
	o.wrote = true
	w, ok := o.tx.(store.Bulk)
	if !ok || o.alone {
		w = oneByOne{o.tx}
	}
	changed := slices.DeleteFunc(slices.Clone(renewed), func(l *store.Lease) bool { return o.renewed[l.ID] })
	renewed = slices.DeleteFunc(renewed, func(l *store.Lease) bool { return !o.renewed[l.ID] })
	for _, step := range []func() error{
		func() error { return w.DeleteLeases(ended) },
		func() error { return deleteJobs(w, gone) },
		func() error { return w.AddTrials(o.trials) },
		func() error { return w.AddLeases(granted) },
		func() error { return w.RenewLeases(renewed) },
		func() error { return each(changed, o.tx.PutLease) },
		func() error { return w.AddJobs(newJobs) },
		func() error { return each(oldJobs, o.tx.PutJob) },
		func() error { return each(campaigns, o.tx.PutCampaign) },
		func() error { return w.PutFindings(findings) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	o.leases.written()
	o.jobs.written()
	o.campaigns.written()
	o.findings.written()
	o.waiting.written()
	o.leased.written()
	o.trials = nil
	clear(o.results)
	o.journal.keep()
	return nil
}

// oneByOne is store.Bulk for a store without it, and for rows that may be there although they look new.
type oneByOne struct{ store.Tx }

func (t oneByOne) AddLeases(all []*store.Lease) error { return each(all, t.PutLease) }

func (t oneByOne) DeleteLeases(ids []string) error { return each(ids, t.DeleteLease) }

func (t oneByOne) RenewLeases(all []*store.Lease) error { return each(all, t.PutLease) }

func (t oneByOne) AddJobs(all []store.Job) error { return each(all, t.PutJob) }

func (t oneByOne) DeleteJobs(campaign string, indices []uint64) error {
	return each(indices, func(index uint64) error { return t.DeleteJob(campaign, index) })
}

func (t oneByOne) PutFindings(all []*store.Finding) error { return each(all, t.PutFinding) }

// deleteJobs deletes jobs, those of each campaign at once.
func deleteJobs(w store.Bulk, all []trialKey) error {
	of := map[string][]uint64{}
	for _, k := range all {
		of[k.campaign] = append(of[k.campaign], k.index)
	}
	return each(slices.Sorted(maps.Keys(of)), func(campaign string) error { return w.DeleteJobs(campaign, of[campaign]) })
}

func (t oneByOne) AddTrials(all []*store.Trial) error { return each(all, t.AddTrial) }

func each[T any](all []T, do func(T) error) error {
	for _, x := range all {
		if err := do(x); err != nil {
			return err
		}
	}
	return nil
}
