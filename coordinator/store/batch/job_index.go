package batch

import (
	"cmp"
	"time"

	"github.com/google/btree"

	"misstep/coordinator/store"
)

// degree of the trees.
const degree = 16

// jobIndex finds the jobs that a transaction knows: a scan of them for each job that is granted would take the longer the more of
// them the transaction puts, as when many leases expire at once.
type jobIndex struct {
	// ready are the indices of those whose time had come by due, by campaign and needs.
	ready map[placeKey]*btree.BTreeG[uint64]
	due   time.Time
	// later are the others.
	later *btree.BTreeG[laterJob]
	// all are the indices of all, by campaign.
	all map[string]*btree.BTreeG[uint64]
}

type placeKey struct{ campaign, needs string }

type laterJob struct {
	at    time.Time
	key   trialKey
	needs string
}

func newJobIndex() *jobIndex {
	return &jobIndex{
		ready: map[placeKey]*btree.BTreeG[uint64]{}, all: map[string]*btree.BTreeG[uint64]{},
		later: btree.NewG(degree, func(a, b laterJob) bool {
			return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.key.campaign, b.key.campaign),
				cmp.Compare(a.key.index, b.key.index)) < 0
		}),
	}
}

// treeOf returns the tree under a key, which it makes if need be.
func treeOf[K comparable](trees map[K]*btree.BTreeG[uint64], k K) *btree.BTreeG[uint64] {
	if trees[k] == nil {
		trees[k] = btree.NewOrderedG[uint64](degree)
	}
	return trees[k]
}

func (x *jobIndex) add(k trialKey, j store.Job) {
	treeOf(x.all, k.campaign).ReplaceOrInsert(k.index)
	if j.NotBefore.After(x.due) {
		x.later.ReplaceOrInsert(laterJob{j.NotBefore, k, j.Needs})
		return
	}
	treeOf(x.ready, placeKey{k.campaign, j.Needs}).ReplaceOrInsert(k.index)
}

func (x *jobIndex) remove(k trialKey, j store.Job) {
	treeOf(x.all, k.campaign).Delete(k.index)
	if j.NotBefore.After(x.due) {
		x.later.Delete(laterJob{j.NotBefore, k, j.Needs})
		return
	}
	treeOf(x.ready, placeKey{k.campaign, j.Needs}).Delete(k.index)
}

// pass notes that the time of jobs has come by now. A clock that was set back changes nothing.
func (x *jobIndex) pass(now time.Time) {
	if !now.After(x.due) {
		return
	}
	x.due = now
	for {
		j, any := x.later.Min()
		if !any || j.at.After(now) {
			return
		}
		x.later.DeleteMin()
		treeOf(x.ready, placeKey{j.key.campaign, j.needs}).ReplaceOrInsert(j.key.index)
	}
}
