package view

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"misstep/coordinator/store"
	"misstep/internal/interval"
	misstepv1 "misstep/proto/misstep/v1"
)

// Bugs lists the bugs of the selected findings. Findings with the same label are one bug; a finding that is new on one of its JDKs
// is a bug by itself, so that no label hides it.
func (r Reader) Bugs(tx store.Tx, s Selection) (List[*misstepv1.Bug], error) {
	found, l, all, err := r.selected(tx, s)
	if err != nil {
		return List[*misstepv1.Bug]{}, err
	}
	of := map[string][]*misstepv1.Finding{}
	for _, f := range found {
		id := bugOf(f)
		of[id] = append(of[id], f)
	}
	titles := map[string]string{}
	for _, b := range l.known.Bugs() {
		titles[b.ID] = b.Title
	}
	list := List[*misstepv1.Bug]{Total: len(all), History: l.historyOf(all), Fill: func(b *misstepv1.Bug) {
		tried := l.triedBy(of[b.GetId()])
		b.Rate, b.Rates = l.ratesOfBug(tried)
		b.History = l.history(tried, l.shownBy(of[b.GetId()]))
	}}
	keys := map[string]sortKey{}
	for id, findings := range of {
		b, k := l.bug(id, findings)
		b.Title = cmp.Or(titles[id], b.GetTitle())
		if s.Sort == SortRate {
			k.rate = l.rate(l.triedBy(findings))
		}
		list.All, keys[id] = append(list.All, b), k
	}
	order(list.All, s.Sort, func(b *misstepv1.Bug) sortKey { return keys[b.GetId()] })
	list.JDKTrials, err = l.triedOn(s)
	return list, err
}

// triedBy returns the combinations in which a bug could have shown up, by its findings.
func (t *trials) triedBy(findings []*misstepv1.Finding) []hits {
	return t.tried(findings, t.hits(t.shownBy(findings)))
}

// shownBy returns the trials that show a bug, by its findings, as indices of log.Hits.
func (t *trials) shownBy(findings []*misstepv1.Finding) []int {
	var ids []string
	for _, f := range findings {
		ids = append(ids, idsOf(f)...)
	}
	return t.shown(ids...)
}

// bug sums up the findings of one bug, at least one, without rates.
func (t *trials) bug(id string, findings []*misstepv1.Finding) (*misstepv1.Bug, sortKey) {
	slices.SortFunc(findings, func(a, b *misstepv1.Finding) int {
		return cmp.Or(cmp.Compare(b.GetHits(), a.GetHits()), cmp.Compare(a.GetId(), b.GetId()))
	})
	b := &misstepv1.Bug{
		Id: id, Status: statusOf(findings[0]), Title: findings[0].GetTitle(), FirstSeen: findings[0].GetFirstSeen(),
		LastSeen: findings[0].GetLastSeen(),
	}
	var on []*misstepv1.KnownOn
	for _, f := range findings {
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
	b.Hits = uint64(len(t.shownBy(findings)))
	k := sortKey{
		id: id, kind: b.GetKinds()[0], known: b.GetStatus() == StatusKnown, hits: b.GetHits(), first: b.GetFirstSeen().AsTime(),
		last: b.GetLastSeen().AsTime(),
	}
	k.setOldest(on)
	return b, k
}

// ratesOfBug returns the rate over all trials that could have shown a bug, and those by JDK.
func (t *trials) ratesOfBug(tried []hits) (*misstepv1.Reliability, []*misstepv1.FindingRate) {
	var shown, all uint64
	byJDK := map[string]*misstepv1.FindingRate{}
	for _, h := range tried {
		c := t.log.Tallies[h.tally]
		shown, all = shown+h.n, all+c.N()
		if byJDK[c.JDK] == nil {
			byJDK[c.JDK] = &misstepv1.FindingRate{Jdk: c.JDK}
		}
		byJDK[c.JDK].Hits += h.n
		byJDK[c.JDK].Trials += c.N()
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
