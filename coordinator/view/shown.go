package view

import (
	"maps"
	"slices"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
)

// shown are the store's hits, read once for any number of findings.
type shown struct {
	all []rates.Shown
	// by finding, indices of all.
	by map[string][]int
}

func readShown(tx store.Tx) (shown, error) {
	all, err := tx.Shown()
	if err != nil {
		return shown{}, err
	}
	s := shown{all: all, by: map[string][]int{}}
	for i, row := range all {
		for _, id := range row.Findings {
			s.by[id] = append(s.by[id], i)
		}
	}
	return s, nil
}

// hits returns the trials that show at least one of the findings, as the store's Hits does.
func (s shown) hits(findings ...string) []rates.Count {
	rows := map[int]bool{}
	for _, id := range findings {
		for _, i := range s.by[id] {
			rows[i] = true
		}
	}
	counts := map[rates.Combination]uint64{}
	for i := range rows {
		counts[s.all[i].Combination] += s.all[i].N
	}
	out := make([]rates.Count, 0, len(counts))
	for _, c := range slices.SortedFunc(maps.Keys(counts), rates.Compare) {
		out = append(out, rates.Count{Combination: c, N: counts[c]})
	}
	return out
}
