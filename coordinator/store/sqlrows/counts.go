package sqlrows

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
)

// SpanSize is the number of ids of trials whose counts are kept together.
const SpanSize = 4096

// Counts implements store.Tx.
func (t *Tx) Counts() ([]rates.Count, error) {
	n, err := t.sums("SELECT combination, CAST(sum(n) AS BIGINT) FROM combination_counts GROUP BY combination")
	if err != nil {
		return nil, err
	}
	return t.named(n)
}

// Log implements store.Tx.
func (t *Tx) Log() (*rates.Log, error) { return store.LogOf(t) }

// Results implements store.Follower.
func (t *Tx) Results(after uint64, f func(rates.Result) error) (last uint64, err error) {
	known, err := t.combinations()
	if err != nil {
		return 0, err
	}
	var greatest int64
	if err := t.row("SELECT coalesce(max(id), 0) FROM trials")(&greatest); err != nil {
		return 0, fmt.Errorf("read the last trial: %w", err)
	}
	if uint64(greatest) <= after {
		return uint64(greatest), nil
	}
	_, err = List(t, "results", func(scan func(...any) error) (none struct{}, err error) {
		var (
			id, combination, ended int64
			findings               string
		)
		if err := scan(&id, &combination, &findings, &ended); err != nil {
			return none, err
		}
		c, ok := known[combination]
		if !ok {
			return none, fmt.Errorf("the store has no combination %d", combination)
		}
		r := rates.Result{Trial: uint64(id), Ended: fromNanos(ended), Combination: c}
		if findings != "" {
			r.Findings = strings.Split(findings, ",")
		}
		return none, f(r)
	}, "SELECT id, combination, findings, ended FROM trials WHERE counts AND id > ? ORDER BY id", int64(after))
	return uint64(greatest), err
}

// sums returns numbers by combination.
func (t *Tx) sums(query string, args ...any) (map[int64]uint64, error) {
	type row struct{ combination, n int64 }
	rows, err := List(t, "counts", func(scan func(...any) error) (r row, err error) {
		return r, scan(&r.combination, &r.n)
	}, query, args...)
	n := make(map[int64]uint64, len(rows))
	for _, r := range rows {
		n[r.combination] = uint64(r.n)
	}
	return n, err
}

// named returns numbers by combination with the combinations, in their order.
func (t *Tx) named(n map[int64]uint64) ([]rates.Count, error) {
	all, err := t.combinations()
	if err != nil {
		return nil, err
	}
	sums := make(map[rates.Combination]uint64, len(n))
	for id, of := range n {
		c, ok := all[id]
		if !ok {
			return nil, fmt.Errorf("read counts: the store has no combination %d", id)
		}
		sums[c] = of
	}
	out := make([]rates.Count, 0, len(sums))
	for _, c := range slices.SortedFunc(maps.Keys(sums), rates.Compare) {
		out = append(out, rates.Count{Combination: c, N: sums[c]})
	}
	return out, nil
}

// combinations returns all by id. They are as many as what users let run differently, however many trials there are.
func (t *Tx) combinations() (map[int64]rates.Combination, error) {
	if t.known != nil {
		return t.known, nil
	}
	known := map[int64]rates.Combination{}
	_, err := List(t, "combinations", func(scan func(...any) error) (none struct{}, err error) {
		var id int64
		var c rates.Combination
		err = scan(&id, &c.Campaign, &c.JDK, &c.Workload, &c.FlagSet, &c.Checks, &c.Perturbation, &c.Ratio, &c.Interval,
			&c.Profiler)
		known[id] = c
		return none, err
	}, "SELECT id, "+CombinationColumns+" FROM combinations")
	if err != nil {
		return nil, err
	}
	t.known = known
	return known, nil
}

// Hits implements store.Tx.
func (t *Tx) Hits(findings ...string) ([]rates.Count, error) {
	all, err := t.Shown()
	if err != nil {
		return nil, err
	}
	sums := map[rates.Combination]uint64{}
	for _, s := range all {
		if slices.ContainsFunc(findings, func(f string) bool { return slices.Contains(s.Findings, f) }) {
			sums[s.Combination] += s.N
		}
	}
	out := make([]rates.Count, 0, len(sums))
	for _, c := range slices.SortedFunc(maps.Keys(sums), rates.Compare) {
		out = append(out, rates.Count{Combination: c, N: sums[c]})
	}
	return out, nil
}

// Shown implements store.Tx.
func (t *Tx) Shown() ([]rates.Shown, error) {
	all, err := t.combinations()
	if err != nil {
		return nil, err
	}
	return List(t, "hits", func(scan func(...any) error) (rates.Shown, error) {
		var (
			s              rates.Shown
			combination, n int64
			ids            string
		)
		err := scan(&combination, &ids, &n)
		s.Combination, s.N, s.Findings = all[combination], uint64(n), strings.Split(ids, ",")
		return s, err
	}, "SELECT combination, findings, n FROM shown_counts")
}
