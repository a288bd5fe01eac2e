package view

import (
	"cmp"
	"slices"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// List is what a selection selects, in its order. What is costly and shown of a part only is filled in on demand.
type List[M any] struct {
	All []M
	// Total is the number of findings, selected or not, and History theirs.
	Total   int
	History *misstepv1.History
	// JDKTrials counts the trials on the selected JDKs, in the selected campaign; nil when none are selected.
	JDKTrials *uint64
	// Fill fills in the rates of an element.
	Fill func(M)
}

// Findings lists the selected findings, with hits and labels and without their examples. It reads the store a bounded number of
// times, however many findings there are.
func (r Reader) Findings(tx store.Tx, s Selection) (List[*misstepv1.Finding], error) {
	found, l, all, err := r.selected(tx, s)
	if err != nil {
		return List[*misstepv1.Finding]{}, err
	}
	order(found, s.Sort, func(f *misstepv1.Finding) sortKey {
		k := keyOfFinding(f)
		if s.Sort == SortRate {
			k.rate = l.rate(l.tried([]*misstepv1.Finding{f}, l.hits(l.shown(idsOf(f)...))))
		}
		return k
	})
	tried, err := l.triedOn(s)
	return List[*misstepv1.Finding]{All: found, Total: len(all), JDKTrials: tried, Fill: l.addRates}, err
}

// triedOn counts the trials on the JDKs that a selection names, in its campaign if it names one; nil when it names no JDK.
func (l *labelling) triedOn(s Selection) (*uint64, error) {
	if s.JDK == "" {
		return nil, nil //nolint:nilnil // nothing was asked
	}
	n := new(uint64)
	for i, c := range l.log.Tallies {
		j, err := l.jdk(i)
		if err != nil {
			return nil, err
		}
		if isJDK(j.Jdk, s.JDK) && (s.Campaign == "" || s.Campaign == c.Campaign) {
			*n += c.N()
		}
	}
	return n, nil
}

// selected returns the selected findings in any order, without their rates, and all findings.
func (r Reader) selected(tx store.Tx, s Selection) (found []*misstepv1.Finding, l *labelling, all []*misstepv1.Finding, err error) {
	g, err := LoadGroups(tx)
	if err != nil {
		return nil, nil, nil, err
	}
	t, err := readTrials(tx)
	if err != nil {
		return nil, nil, nil, err
	}
	l = r.labelling(tx, g, t)
	all = g.Findings()
	for _, f := range all {
		f.Example, f.ExampleRecipe = nil, nil
		f.Doubted = r.doubted(f)
		if !s.stored(f) || s.Doubted && !f.GetDoubted() {
			continue
		}
		if err := l.describe(f); err != nil {
			return nil, nil, nil, err
		}
		if s.labelled(f) {
			found = append(found, f)
		}
	}
	l.addStates(found)
	found = slices.DeleteFunc(found, func(f *misstepv1.Finding) bool { return !s.inState(f) })
	return found, l, all, nil
}

// describe fills in the hits of a finding, which known bug it is on each JDK that showed it, and the JDKs on which it is back.
func (l *labelling) describe(f *misstepv1.Finding) error {
	all := l.hits(l.shown(idsOf(f)...))
	label, err := l.label(f, all)
	if err != nil {
		return err
	}
	f.Hits, f.Assorted, f.KnownAs, f.KnownOn, f.Bugs = sum(all), label.assorted, label.knownAs, label.on, label.bugs
	if f.GetAssorted() != "" {
		return nil
	}
	return l.addBack(f, all, label.fixed)
}

// addStates fills in the other states of findings, and orders them.
func (l *labelling) addStates(all []*misstepv1.Finding) {
	l.addQuiet(slices.DeleteFunc(slices.Clone(all), func(f *misstepv1.Finding) bool { return f.GetAssorted() != "" }))
	for _, f := range all {
		slices.SortFunc(f.GetStates(), func(a, b *misstepv1.FindingState) int {
			return cmp.Or(cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetJdk(), b.GetJdk()))
		})
	}
}

// Finding returns the finding to which a stored one belongs, whole: with its aliases folded in, its example, its rates and its
// label.
func (r Reader) Finding(tx store.Tx, g Groups, id string) (*misstepv1.Finding, error) {
	t, err := readTrials(tx)
	if err != nil {
		return nil, err
	}
	f := g.finding(g.Head(id))
	stored, err := tx.Finding(f.GetId())
	if err != nil {
		return nil, err
	}
	f.Example, f.ExampleRecipe = stored.Proto.GetExample(), stored.Proto.GetExampleRecipe()
	f.Doubted = r.doubted(f)
	l := r.labelling(tx, g, t)
	if err := l.describe(f); err != nil {
		return nil, err
	}
	l.addStates([]*misstepv1.Finding{f})
	t.addRates(f)
	return f, nil
}
