package sqlrows

import (
	"math"
	"strings"

	"misstep/coordinator/rates"
)

func (t *Tx) counts(where string, args ...any) ([]rates.Count, error) {
	query := "SELECT " + CombinationColumns + ", count(*) FROM trials WHERE counts " + where +
		" GROUP BY " + CombinationColumns + " ORDER BY " + CombinationColumns
	return List(t, "counts", func(scan func(...any) error) (rates.Count, error) {
		var c rates.Count
		var n int64
		err := scan(&c.Campaign, &c.JDK, &c.Workload, &c.FlagSet, &c.Checks, &c.Perturbation, &c.Ratio, &c.Interval, &c.Profiler,
			&n)
		c.N = uint64(n)
		return c, err
	}, query, args...)
}

// Counts implements store.Tx.
func (t *Tx) Counts() ([]rates.Count, error) { return t.counts("") }

// CountsBetween implements store.Tx.
func (t *Tx) CountsBetween(bounds []uint64) ([][]rates.Count, error) {
	var out [][]rates.Count
	for i := 1; i < len(bounds); i++ {
		span, err := t.counts("AND id > ? AND id <= ?", int64(bounds[i-1]), int64(min(bounds[i], math.MaxInt64)))
		if err != nil {
			return nil, err
		}
		out = append(out, span)
	}
	return out, nil
}

// Hits implements store.Tx.
func (t *Tx) Hits(findings ...string) ([]rates.Count, error) {
	args := make([]any, len(findings))
	for i, f := range findings {
		args[i] = f
	}
	return t.counts("AND id IN (SELECT trial FROM shown WHERE finding IN (?"+strings.Repeat(",?", max(0, len(findings)-1))+"))",
		append(args, make([]any, max(0, 1-len(args)))...)...)
}

// Shown implements store.Tx.
func (t *Tx) Shown() ([]rates.Shown, error) {
	return List(t, "hits", func(scan func(...any) error) (rates.Shown, error) {
		var s rates.Shown
		var ids string
		var n int64
		err := scan(&s.Campaign, &s.JDK, &s.Workload, &s.FlagSet, &s.Checks, &s.Perturbation, &s.Ratio, &s.Interval, &s.Profiler,
			&ids, &n)
		s.N, s.Findings = uint64(n), strings.Split(ids, ",")
		return s, err
	}, "SELECT "+CombinationColumns+", ids, count(*) FROM trials JOIN "+
		"(SELECT trial, string_agg(finding, ',' ORDER BY finding) AS ids FROM shown GROUP BY trial) AS hits ON trial = id "+
		"WHERE counts GROUP BY "+CombinationColumns+", ids")
}

// LastHits implements store.Tx.
func (t *Tx) LastHits() ([]rates.Last, error) {
	return List(t, "last hits", func(scan func(...any) error) (rates.Last, error) {
		var l rates.Last
		var id, ended int64
		err := scan(&l.Finding, &l.JDK, &id, &ended)
		l.Trial, l.Ended = uint64(id), fromNanos(ended)
		return l, err
	}, "SELECT finding, jdk, id, ended FROM trials JOIN "+
		"(SELECT finding, max(id) AS last FROM shown JOIN trials ON id = trial WHERE counts GROUP BY finding, jdk) AS hits "+
		"ON id = last ORDER BY finding, jdk")
}
