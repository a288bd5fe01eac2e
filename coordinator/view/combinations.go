package view

import (
	"cmp"
	"maps"
	"slices"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// Combinations counts the trials of a campaign by JDK, workload and flag set, and those of them that showed a finding.
func Combinations(tx store.Tx, campaign string) ([]*misstepv1.TriedCombination, error) {
	counts, err := tx.Counts()
	if err != nil {
		return nil, err
	}
	shown, err := tx.Shown()
	if err != nil {
		return nil, err
	}
	of := map[key]*misstepv1.TriedCombination{}
	at := func(c rates.Combination) *misstepv1.TriedCombination {
		if of[keyOf(c)] == nil {
			of[keyOf(c)] = &misstepv1.TriedCombination{Jdk: c.JDK, Workload: c.Workload, FlagSet: c.FlagSet}
		}
		return of[keyOf(c)]
	}
	for _, c := range counts {
		if c.Campaign == campaign {
			at(c.Combination).Trials += c.N
		}
	}
	for _, c := range shown {
		if c.Campaign == campaign {
			at(c.Combination).Hits += c.N
		}
	}
	return slices.SortedFunc(maps.Values(of), func(a, b *misstepv1.TriedCombination) int {
		return cmp.Or(cmp.Compare(a.GetJdk(), b.GetJdk()), cmp.Compare(a.GetWorkload(), b.GetWorkload()),
			cmp.Compare(a.GetFlagSet(), b.GetFlagSet()))
	}), nil
}
