package view

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
)

// sortKey is what findings and bugs are ordered by.
type sortKey struct {
	id, kind    string
	known       bool
	hits        uint64
	rate        float64
	first, last time.Time
	// jdk is the oldest that showed it.
	version known.Version
	jdk     string
}

// SortRate is the one of Sorts that needs the rate of each element.
const SortRate = "rate"

var sorts = map[string]func(a, b sortKey) int{
	"":       func(sortKey, sortKey) int { return 0 },
	SortRate: func(a, b sortKey) int { return cmp.Compare(b.rate, a.rate) },
	"hits":   func(a, b sortKey) int { return cmp.Compare(b.hits, a.hits) },
	"first":  func(a, b sortKey) int { return b.first.Compare(a.first) },
	"last":   func(a, b sortKey) int { return b.last.Compare(a.last) },
	"kind":   func(a, b sortKey) int { return cmp.Compare(a.kind, b.kind) },
	"jdk": func(a, b sortKey) int {
		return cmp.Or(slices.Compare(a.version[:], b.version[:]), cmp.Compare(a.jdk, b.jdk))
	},
}

// Sorts are the names of the orders of a Selection, without the empty one.
func Sorts() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(sorts)), func(name string) bool { return name == "" })
}

// OrderFindings sorts findings with rates and labels by one of Sorts, or by the order of an empty one.
func OrderFindings(list []*misstepv1.Finding, by string) {
	order(list, by, func(f *misstepv1.Finding) sortKey {
		k := keyOfFinding(f)
		k.rate = rateOf(f)
		return k
	})
}

// order sorts by one of sorts; what it takes for equal is sorted by new before known, then most recently seen first, then by id.
func order[T any](list []T, by string, keyOf func(T) sortKey) {
	type keyed struct {
		sortKey
		value T
	}
	all := make([]keyed, 0, len(list))
	for _, value := range list {
		all = append(all, keyed{keyOf(value), value})
	}
	slices.SortFunc(all, func(a, b keyed) int {
		return cmp.Or(sorts[by](a.sortKey, b.sortKey), cmp.Compare(rank(a.known), rank(b.known)), b.last.Compare(a.last),
			cmp.Compare(a.id, b.id))
	})
	for i, k := range all {
		list[i] = k.value
	}
}

func rank(known bool) int {
	if known {
		return 1
	}
	return 0
}

// keyOfFinding leaves out the rate.
func keyOfFinding(f *misstepv1.Finding) sortKey {
	k := sortKey{
		id: f.GetId(), kind: f.GetSignature().GetKind(), known: statusOf(f) == StatusKnown, hits: f.GetHits(),
		first: f.GetFirstSeen().AsTime(), last: f.GetLastSeen().AsTime(),
	}
	k.setOldest(f.GetKnownOn())
	return k
}

// setOldest sets the oldest of the JDKs, which are in the order of their versions.
func (k *sortKey) setOldest(on []*misstepv1.KnownOn) {
	if len(on) > 0 {
		k.version = versionOf(on[0].GetJdk())
		k.jdk = on[0].GetJdk().GetName()
	}
}

// rateOf is a finding's rate over everything that its rates list; 0 without trials.
func rateOf(f *misstepv1.Finding) float64 {
	var hits, trials uint64
	for _, r := range f.GetRates() {
		hits, trials = hits+r.GetHits(), trials+r.GetTrials()
	}
	if trials == 0 {
		return 0
	}
	return float64(hits) / float64(trials)
}
