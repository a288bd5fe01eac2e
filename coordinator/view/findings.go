package view

import (
	"slices"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// Findings lists the findings seen in a campaign, or all when campaign is empty, most recently seen first, with hits, rates and
// labels and without their examples.
func (r Reader) Findings(tx store.Tx, campaign string) ([]*misstepv1.Finding, error) {
	g, err := LoadGroups(tx)
	if err != nil {
		return nil, err
	}
	counts, err := tx.Counts()
	if err != nil {
		return nil, err
	}
	jdks := jdksOf{}
	var found []*misstepv1.Finding
	var all []seen
	for _, f := range g.Findings() {
		if campaign != "" && !slices.Contains(f.GetCampaigns(), campaign) {
			continue
		}
		f.Example, f.ExampleRecipe = nil, nil
		hits, err := r.addHits(tx, g, f, counts, jdks)
		if err != nil {
			return nil, err
		}
		found, all = append(found, f), append(all, seen{f, hits})
	}
	return found, r.addStates(tx, g, all, counts, jdks)
}

// Finding returns the finding to which a stored one belongs, with its aliases folded in, its rates and its label. all are the
// findings after merges, without rates and labels.
func (r Reader) Finding(tx store.Tx, g Groups, id string) (f *misstepv1.Finding, all []*misstepv1.Finding, err error) {
	counts, err := tx.Counts()
	if err != nil {
		return nil, nil, err
	}
	all = g.Findings()
	f = all[slices.IndexFunc(all, func(f *misstepv1.Finding) bool { return f.GetId() == g.Head(id) })]
	jdks := jdksOf{}
	hits, err := r.addHits(tx, g, f, counts, jdks)
	if err != nil {
		return nil, nil, err
	}
	return f, all, r.addStates(tx, g, []seen{{f, hits}}, counts, jdks)
}

// addHits fills in a finding's hits, rates and label from the trials that showed it, and returns the hits.
func (r Reader) addHits(
	tx store.Tx, g Groups, f *misstepv1.Finding, counts []rates.Count, jdks jdksOf,
) ([]rates.Count, error) {
	hits, err := tx.Hits(append([]string{f.GetId()}, f.GetAliases()...)...)
	if err != nil {
		return nil, err
	}
	addRates(f, hits, counts)
	return hits, r.addLabel(tx, g, f, hits, jdks)
}
