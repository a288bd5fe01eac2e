package sqlite

import (
	"fmt"
	"math"

	"misstep/coordinator/rates"
	misstepv1 "misstep/proto/misstep/v1"
)

func (t *tx) PutKnownBug(b *misstepv1.KnownBug) error {
	raw, err := marshal(b)
	if err != nil {
		return fmt.Errorf("write known bug %s: %w", b.GetId(), err)
	}
	return t.exec("store known bug "+b.GetId(), "INSERT OR REPLACE INTO known_bugs (id, bug) VALUES (?,?)", b.GetId(), raw)
}

func (t *tx) DeleteKnownBug(id string) error {
	return t.exec("remove known bug "+id, "DELETE FROM known_bugs WHERE id = ?", id)
}

func (t *tx) KnownBugs() ([]*misstepv1.KnownBug, error) {
	return list(t, "known bugs", func(scan func(...any) error) (*misstepv1.KnownBug, error) {
		var raw any
		if err := scan(&raw); err != nil {
			return nil, err
		}
		return unmarshal(raw, &misstepv1.KnownBug{})
	}, "SELECT bug FROM known_bugs ORDER BY id")
}

func (t *tx) CountsBetween(bounds []uint64) ([][]rates.Count, error) {
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

func (t *tx) LastHits() ([]rates.Last, error) {
	return list(t, "last hits", func(scan func(...any) error) (rates.Last, error) {
		var l rates.Last
		var id, ended int64
		err := scan(&l.Finding, &l.JDK, &id, &ended)
		l.Trial, l.Ended = uint64(id), fromNanos(ended)
		return l, err
	}, "SELECT finding, jdk, id, ended FROM trials JOIN "+
		"(SELECT finding, max(id) AS last FROM shown JOIN trials ON id = trial WHERE counts GROUP BY finding, jdk) ON id = last "+
		"ORDER BY finding, jdk")
}
