package view

import (
	"slices"
	"strings"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// trials are the trials of a store as a transaction sees it, read once for any number of findings. Combinations are named by their
// indices in the log, which are in the order of rates.Compare.
type trials struct {
	log *rates.Log
	// tallies has what the i-th combination is grouped by.
	tallies []tally
	// by finding, indices of log.Hits.
	by map[string][]int
	// checks are the different lists of checks, keys and cells the numbers of different keys and cells.
	checks      []string
	keys, cells int
	periods     periods
}

// tally is what a combination is grouped by, as numbers that begin at 0.
type tally struct {
	// checks is the index of trials.checks; key is what rates that are shown are distinguished by; cell is everything but the
	// campaign.
	checks, key, cell int
	// probes reports that it is of a reproduction.
	probes bool
}

// hits is the number of a combination's trials that show something.
type hits struct {
	tally int
	n     uint64
}

func readTrials(tx store.Tx) (*trials, error) {
	log, err := tx.Log()
	if err != nil {
		return nil, err
	}
	t := &trials{log: log, tallies: make([]tally, len(log.Tallies)), by: map[string][]int{}}
	checks, keys, cells := map[string]int{}, map[key]int{}, map[rates.Combination]int{}
	for i, c := range log.Tallies {
		if _, known := checks[c.Checks]; !known {
			t.checks = append(t.checks, c.Checks)
		}
		cell := c.Combination
		cell.Campaign = ""
		t.tallies[i] = tally{
			checks: number(checks, c.Checks), key: number(keys, keyOf(c.Combination)), cell: number(cells, cell),
			probes: strings.HasPrefix(c.Campaign, store.ReproductionPrefix),
		}
	}
	t.keys, t.cells, t.periods = len(keys), len(cells), periodsOf(log)
	for i, h := range log.Hits {
		for _, id := range h.Findings {
			t.by[id] = append(t.by[id], i)
		}
	}
	return t, nil
}

// number returns the number of a value, which is the next one if it is new.
func number[K comparable](of map[K]int, value K) int {
	n, known := of[value]
	if !known {
		n = len(of)
		of[value] = n
	}
	return n
}

// shown returns the indices of the trials in log.Hits that show at least one of the findings, in order.
func (t *trials) shown(findings ...string) []int {
	if len(findings) == 1 {
		return t.by[findings[0]]
	}
	var all []int
	for _, id := range findings {
		all = append(all, t.by[id]...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// hits counts trials of log.Hits by combination, in the order of the combinations.
func (t *trials) hits(shown []int) []hits {
	of := make([]int, len(shown))
	for i, at := range shown {
		of[i] = t.log.Hits[at].Tally
	}
	slices.Sort(of)
	var out []hits
	for i, at := range of {
		if i == 0 || at != of[i-1] {
			out = append(out, hits{tally: at})
		}
		out[len(out)-1].n++
	}
	return out
}

// could returns, for each of the lists of checks, whether its trials could have shown at least one of the findings.
func (t *trials) could(findings ...*misstepv1.Finding) []bool {
	can := make([]bool, len(t.checks))
	for i, checks := range t.checks {
		can[i] = slices.ContainsFunc(findings, func(f *misstepv1.Finding) bool { return couldShow(f.GetSignature(), checks) })
	}
	return can
}

// couldShow reports whether trials of recipes with these checks could have shown a signature.
func couldShow(sig *misstepv1.Signature, checks string) bool {
	check := signature.CheckOf(sig)
	return check == "" || slices.Contains(strings.Split(checks, ","), check)
}

// sum adds up hits.
func sum(all []hits) (n uint64) {
	for _, h := range all {
		n += h.n
	}
	return n
}

// idsOf returns the ids of a finding and of those that were merged into it.
func idsOf(f *misstepv1.Finding) []string { return append([]string{f.GetId()}, f.GetAliases()...) }
