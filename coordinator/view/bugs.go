package view

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	"misstep/internal/interval"
	misstepv1 "misstep/proto/misstep/v1"
)

// Bugs lists the bugs of the selected findings in the selection's order, and returns how many findings there are in all. Findings
// with the same label are one bug; a finding that is new on one of its JDKs is a bug by itself, so that no label hides it.
func (r Reader) Bugs(tx store.Tx, s Selection) (list []*misstepv1.Bug, total int, err error) {
	onlyHits := func(f *misstepv1.Finding, hits, _ []rates.Count) { f.Hits = sum(hits) } // the rates of single ones are not shown
	found, c, total, err := r.selected(tx, s, onlyHits)
	if err != nil {
		return nil, 0, err
	}
	of := map[string][]*misstepv1.Finding{}
	for _, f := range found {
		id := bugOf(f)
		of[id] = append(of[id], f)
	}
	titles := map[string]string{}
	for _, b := range c.known.Bugs() {
		titles[b.ID] = b.Title
	}
	keys := map[string]sortKey{}
	for id, findings := range of {
		b, k := bug(id, findings, c)
		b.Title = cmp.Or(titles[id], b.GetTitle())
		list, keys[id] = append(list, b), k
	}
	order(list, s.Sort, func(b *misstepv1.Bug) sortKey { return keys[b.GetId()] })
	return list, total, nil
}

// bug sums up the findings of one bug, at least one.
func bug(id string, findings []*misstepv1.Finding, c counts) (*misstepv1.Bug, sortKey) {
	slices.SortFunc(findings, func(a, b *misstepv1.Finding) int {
		return cmp.Or(cmp.Compare(b.GetHits(), a.GetHits()), cmp.Compare(a.GetId(), b.GetId()))
	})
	b := &misstepv1.Bug{
		Id: id, Status: statusOf(findings[0]), Title: findings[0].GetTitle(), FirstSeen: findings[0].GetFirstSeen(),
		LastSeen: findings[0].GetLastSeen(),
	}
	var ids []string
	var on []*misstepv1.KnownOn
	for _, f := range findings {
		ids = append(append(ids, f.GetId()), f.GetAliases()...)
		b.FindingIds = append(b.FindingIds, f.GetId())
		if kind := f.GetSignature().GetKind(); !slices.Contains(b.GetKinds(), kind) {
			b.Kinds = append(b.Kinds, kind)
		}
		if f.GetFirstSeen().AsTime().Before(b.GetFirstSeen().AsTime()) {
			b.FirstSeen = f.GetFirstSeen()
		}
		if f.GetLastSeen().AsTime().After(b.GetLastSeen().AsTime()) {
			b.LastSeen = f.GetLastSeen()
		}
		on = append(on, f.GetKnownOn()...)
	}
	b.States = statesOf(findings)
	slices.Sort(b.Kinds)
	slices.SortFunc(on, compareOn)
	for _, o := range on {
		if name := o.GetJdk().GetName(); !slices.Contains(b.GetJdks(), name) {
			b.Jdks = append(b.Jdks, name)
		}
	}
	hits := c.shown.hits(ids...)
	b.Hits = sum(hits)
	b.Rate, b.Rates = ratesOfBug(tried(findings, hits, c.trials))
	k := sortKey{
		id: id, kind: b.GetKinds()[0], known: b.GetStatus() == StatusKnown, hits: b.GetHits(), first: b.GetFirstSeen().AsTime(),
		last: b.GetLastSeen().AsTime(),
	}
	if b.GetRate().GetTries() > 0 {
		k.rate = float64(b.GetRate().GetHits()) / float64(b.GetRate().GetTries())
	}
	k.setOldest(on)
	return b, k
}

// ratesOfBug returns the rate over all trials that could have shown a bug, and those by JDK.
func ratesOfBug(cells []counted) (*misstepv1.Reliability, []*misstepv1.FindingRate) {
	var shown, all uint64
	byJDK := map[string]*misstepv1.FindingRate{}
	for _, c := range cells {
		shown, all = shown+c.hits, all+c.N
		if byJDK[c.JDK] == nil {
			byJDK[c.JDK] = &misstepv1.FindingRate{Jdk: c.JDK}
		}
		byJDK[c.JDK].Hits += c.hits
		byJDK[c.JDK].Trials += c.N
	}
	var list []*misstepv1.FindingRate
	for _, name := range slices.Sorted(maps.Keys(byJDK)) {
		r := byJDK[name]
		r.Low, r.High = interval.Wilson(r.GetHits(), r.GetTrials())
		list = append(list, r)
	}
	low, high := interval.Wilson(shown, all)
	return &misstepv1.Reliability{
		Hits: uint32(min(shown, math.MaxUint32)), Tries: uint32(min(all, math.MaxUint32)), Low: low, High: high,
	}, list
}

// statesOf returns the states of a bug: back when one of its findings is, quiet when all of them are.
func statesOf(findings []*misstepv1.Finding) []string {
	with := map[string]int{}
	for _, f := range findings {
		for _, kind := range []string{misstepv1.StateBack, misstepv1.StateQuiet} {
			if (Selection{State: kind}).inState(f) {
				with[kind]++
			}
		}
	}
	var states []string
	if with[misstepv1.StateBack] > 0 {
		states = append(states, misstepv1.StateBack)
	}
	if with[misstepv1.StateQuiet] == len(findings) {
		states = append(states, misstepv1.StateQuiet)
	}
	return states
}
