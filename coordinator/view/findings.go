package view

import (
	"slices"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
)

// Findings lists the selected findings in the selection's order, with hits, rates and labels and without their examples, and
// returns how many there are in all. It reads the store a bounded number of times, however many findings there are.
func (r Reader) Findings(tx store.Tx, s Selection) (list []*misstepv1.Finding, total int, err error) {
	found, _, total, err := r.selected(tx, s, addRates)
	if err != nil {
		return nil, 0, err
	}
	order(found, s.Sort, keyOfFinding)
	return found, total, nil
}

// counts are the trials and hits of a store, and the bugs that its findings are labelled with, read once.
type counts struct {
	trials []rates.Count
	shown  shown
	known  known.Catalogue
}

// selected returns the selected findings in any order; fillIn sets their hits, and whatever else of rates is wanted.
func (r Reader) selected(
	tx store.Tx, s Selection, fillIn func(f *misstepv1.Finding, hits, counts []rates.Count),
) (found []*misstepv1.Finding, c counts, total int, err error) {
	g, err := LoadGroups(tx)
	if err != nil {
		return nil, counts{}, 0, err
	}
	if c.trials, err = tx.Counts(); err != nil {
		return nil, counts{}, 0, err
	}
	if c.shown, err = readShown(tx); err != nil {
		return nil, counts{}, 0, err
	}
	l := r.labelling(g)
	c.known = l.known
	all := g.Findings()
	var marked []seen
	for _, f := range all {
		f.Example, f.ExampleRecipe = nil, nil
		f.Doubted = r.doubted(f)
		if !s.stored(f) || s.Doubted && !f.GetDoubted() {
			continue
		}
		hits := c.shown.hits(append([]string{f.GetId()}, f.GetAliases()...)...)
		if err := l.addLabel(tx, f, hits); err != nil {
			return nil, counts{}, 0, err
		}
		if s.labelled(f) {
			fillIn(f, hits, c.trials)
			found, marked = append(found, f), append(marked, seen{f, hits})
		}
	}
	if err := l.addStates(tx, marked, c.trials); err != nil {
		return nil, counts{}, 0, err
	}
	found = slices.DeleteFunc(found, func(f *misstepv1.Finding) bool { return !s.inState(f) })
	return found, c, len(all), nil
}

// Finding returns the finding to which a stored one belongs, with its aliases folded in, its rates and its label. all are the
// findings after merges, without rates and labels.
func (r Reader) Finding(tx store.Tx, g Groups, id string) (f *misstepv1.Finding, all []*misstepv1.Finding, err error) {
	trials, err := tx.Counts()
	if err != nil {
		return nil, nil, err
	}
	all = g.Findings()
	f = all[slices.IndexFunc(all, func(f *misstepv1.Finding) bool { return f.GetId() == g.Head(id) })]
	hits, err := tx.Hits(append([]string{f.GetId()}, f.GetAliases()...)...)
	if err != nil {
		return nil, nil, err
	}
	f.Doubted = r.doubted(f)
	addRates(f, hits, trials)
	l := r.labelling(g)
	if err := l.addLabel(tx, f, hits); err != nil {
		return nil, nil, err
	}
	return f, all, l.addStates(tx, []seen{{f, hits}}, trials)
}
