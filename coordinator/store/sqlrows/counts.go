package sqlrows

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"misstep/coordinator/rates"
)

// SpanSize is the number of ids of trials whose counts are kept together: what is counted between two trials is the sum of whole
// spans, and at most two spans' trials.
const SpanSize = 4096

// Counts implements store.Tx.
func (t *Tx) Counts() ([]rates.Count, error) {
	n, err := t.sums("SELECT combination, CAST(sum(n) AS BIGINT) FROM combination_counts GROUP BY combination")
	if err != nil {
		return nil, err
	}
	return t.named(n)
}

// CountsBetween implements store.Tx.
func (t *Tx) CountsBetween(bounds []uint64) ([][]rates.Count, error) {
	var out [][]rates.Count
	for i := 1; i < len(bounds); i++ {
		n, err := t.between(int64(min(bounds[i-1], math.MaxInt64-1)), int64(min(bounds[i], math.MaxInt64-1)))
		if err != nil {
			return nil, err
		}
		span, err := t.named(n)
		if err != nil {
			return nil, err
		}
		out = append(out, span)
	}
	return out, nil
}

// between returns the counts of the trials with ids greater than after and at most upTo, by combination.
func (t *Tx) between(after, upTo int64) (map[int64]uint64, error) {
	first, last := (after+SpanSize)/SpanSize, (upTo+1)/SpanSize // whole spans from first, up to last
	const trials = "SELECT combination, count(*) FROM trials WHERE counts AND id > ? AND id <= ? GROUP BY combination"
	if first >= last {
		return t.sums(trials, after, upTo)
	}
	n, err := t.sums("SELECT combination, CAST(sum(n) AS BIGINT) FROM combination_counts WHERE span >= ? AND span < ? "+
		"GROUP BY combination", first, last)
	for _, edge := range [][2]int64{{after, first*SpanSize - 1}, {last*SpanSize - 1, upTo}} {
		if err != nil {
			return nil, err
		}
		var more map[int64]uint64
		more, err = t.sums(trials, edge[0], edge[1])
		for combination, of := range more {
			n[combination] += of
		}
	}
	return n, err
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

// LastHits implements store.Tx.
func (t *Tx) LastHits() ([]rates.Last, error) {
	return List(t, "last hits", func(scan func(...any) error) (rates.Last, error) {
		var l rates.Last
		var id, ended int64
		err := scan(&l.Finding, &l.JDK, &id, &ended)
		l.Trial, l.Ended = uint64(id), fromNanos(ended)
		return l, err
	}, "SELECT finding, jdk, trial, ended FROM last_hits ORDER BY finding, jdk")
}
