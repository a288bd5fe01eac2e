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
	if !o.jobs.look(k).present {
		o.waiting.add(j.Campaign, 1)
	}
	o.jobs.put(k, j)
	return nil
}

func (o *overlay) DeleteJob(campaign string, index uint64) error {
	k := trialKey{campaign, index}
	if o.jobs.look(k).present {
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
	treeOf(o.jobIndex.all, campaign).Ascend(func(index uint64) bool {
		out = append(out, o.jobs.look(trialKey{campaign, index}).value)
		return true
	})
	return out, nil
}

// readyKey is what ready jobs were read for.
type readyKey struct{ campaign, capabilities string }

// readyPage says which ready jobs of the store below are known. Jobs there that become ready while the transaction runs are found
// by the next one.
type readyPage struct {
	// upTo is where reading continues: those with lower indices are known.
	upTo uint64
	// more is true when there may be further ones.
	more bool
}

// pageSize is how many ready jobs are read at once.
const pageSize = 128

func (o *overlay) ReadyJobs(f store.ReadyFilter) ([]store.Job, error) {
	o.jobIndex.pass(f.At)
	key := readyKey{f.Campaign, strings.Join(f.Capabilities, "\n")}
	p := o.ready[key]
	if p == nil {
		p = &readyPage{more: true}
		o.ready[key] = p
	}
	for {
		out := o.knownReady(f)
		if !p.more || len(out) > 0 && len(out) == f.Limit && out[len(out)-1].Index < p.upTo {
			return out, nil
		}
		if err := o.readMore(p, f); err != nil {
			return nil, err
		}
	}
}

// knownReady returns the jobs that match among those that the transaction knows.
func (o *overlay) knownReady(f store.ReadyFilter) []store.Job {
	var out []store.Job
	for _, needs := range slices.Compact(slices.Sorted(slices.Values(append([]string{""}, f.Capabilities...)))) {
		n := 0
		treeOf(o.jobIndex.ready, placeKey{f.Campaign, needs}).AscendGreaterOrEqual(f.From, func(index uint64) bool {
			if j := o.jobs.look(trialKey{f.Campaign, index}).value; f.Matches(j) {
				out = append(out, j)
				n++
			}
			return n < f.Limit
		})
	}
	slices.SortFunc(out, func(a, b store.Job) int { return cmp.Compare(a.Index, b.Index) })
	return out[:min(len(out), f.Limit)]
}

func (o *overlay) readMore(p *readyPage, f store.ReadyFilter) error {
	f.From, f.Limit = p.upTo, pageSize
	below, err := o.tx.ReadyJobs(f)
	if err != nil {
		return o.below(err)
	}
	for _, j := range below {
		o.jobs.read(trialKey{j.Campaign, j.Index}, j)
		p.upTo = j.Index + 1
	}
	p.more = len(below) == pageSize
	return nil
}
