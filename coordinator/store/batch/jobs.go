package batch

import (
	"cmp"
	"slices"
	"strings"

	"misstep/coordinator/store"
)

func (o *overlay) PutJob(j store.Job) error {
	k := trialKey{j.Campaign, j.Index}
	// An unknown job is taken for a new one: the queue puts a job for a trial that was not in the queue.
	if !o.jobs.rows[k].present {
		o.waiting.add(j.Campaign, 1)
	}
	o.jobs.put(k, j)
	return nil
}

func (o *overlay) DeleteJob(campaign string, index uint64) error {
	k := trialKey{campaign, index}
	if o.jobs.rows[k].present {
		o.waiting.add(campaign, -1)
	}
	o.jobs.remove(k)
	return nil
}

func (o *overlay) CountJobs(campaign string) (uint64, error) {
	n, err := o.waiting.of(campaign)
	return n, o.below(err)
}

func (o *overlay) Jobs(campaign string) ([]store.Job, error) {
	below, err := o.tx.Jobs(campaign)
	if err != nil {
		return nil, o.below(err)
	}
	for _, j := range below {
		o.jobs.read(trialKey{campaign, j.Index}, j)
	}
	var out []store.Job
	o.jobs.each(func(k trialKey, j store.Job) {
		if k.campaign == campaign {
			out = append(out, j)
		}
	})
	slices.SortFunc(out, compareJobs)
	return out, nil
}

func compareJobs(a, b store.Job) int { return cmp.Compare(a.Index, b.Index) }

// readyKey is what a page of ready jobs was read for.
type readyKey struct{ campaign, capabilities string }

// readyPage holds ready jobs of the store below, those with the lowest indices first. Jobs that become ready while the transaction
// runs are found by the next one.
type readyPage struct {
	jobs []store.Job
	// skip is the number of jobs at the beginning that are not ready any more.
	skip int
	// more is true when the store below may have further ones.
	more bool
}

// pageSize is how many ready jobs are read at once.
const pageSize = 128

func (o *overlay) ReadyJobs(f store.ReadyFilter) ([]store.Job, error) {
	var out []store.Job
	// Those that were put by the transaction are few.
	for _, k := range o.jobs.changed {
		r := o.jobs.rows[k]
		if r.changed && r.present && f.Matches(r.value) && !slices.ContainsFunc(out,
			func(j store.Job) bool { return j.Index == k.index }) {
			out = append(out, r.value)
		}
	}
	slices.SortFunc(out, compareJobs)
	page, err := o.page(f)
	if err != nil {
		return nil, err
	}
	found := 0
	for i := page.skip; found < f.Limit; i++ {
		if i == len(page.jobs) {
			if !page.more {
				break
			}
			if err := o.readMore(page, f); err != nil {
				return nil, err
			}
			i--
			continue
		}
		j := page.jobs[i]
		if r := o.jobs.rows[trialKey{j.Campaign, j.Index}]; r.changed {
			if i == page.skip {
				old := page.skip
				o.journal.note(func() { page.skip = old })
				page.skip++
			}
			continue
		}
		if f.Matches(j) {
			out = append(out, j)
			found++
		}
	}
	slices.SortFunc(out, compareJobs)
	return out[:min(len(out), f.Limit)], nil
}

func (o *overlay) page(f store.ReadyFilter) (*readyPage, error) {
	key := readyKey{f.Campaign, strings.Join(f.Capabilities, "\n")}
	p := o.ready[key]
	if p == nil {
		p = &readyPage{more: true}
		o.ready[key] = p
		if err := o.readMore(p, f); err != nil {
			delete(o.ready, key)
			return nil, err
		}
	}
	return p, nil
}

func (o *overlay) readMore(p *readyPage, f store.ReadyFilter) error {
	f.From, f.Limit = 0, pageSize
	if n := len(p.jobs); n > 0 {
		f.From = p.jobs[n-1].Index + 1
	}
	below, err := o.tx.ReadyJobs(f)
	if err != nil {
		return o.below(err)
	}
	for _, j := range below {
		o.jobs.read(trialKey{j.Campaign, j.Index}, j)
	}
	p.jobs, p.more = append(p.jobs, below...), len(below) == pageSize
	return nil
}
