package sqlite

import (
	"fmt"
	"math"
	"strings"

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

func (t *tx) CountsBetween(after, upTo uint64) ([]rates.Count, error) {
	return t.counts("AND id > ? AND id <= ?", int64(after), int64(min(upTo, math.MaxInt64)))
}

func (t *tx) LastHits(findings ...string) ([]rates.Last, error) {
	if len(findings) == 0 {
		return nil, nil
	}
	args := make([]any, len(findings))
	for i, f := range findings {
		args[i] = f
	}
	return list(t, "last hits", func(scan func(...any) error) (rates.Last, error) {
		var l rates.Last
		var id, ended int64
		err := scan(&l.JDK, &id, &ended)
		l.Trial, l.Ended = uint64(id), fromNanos(ended)
		return l, err
	}, "SELECT jdk, id, ended FROM trials WHERE id IN (SELECT max(id) FROM trials WHERE counts AND id IN "+
		"(SELECT trial FROM shown WHERE finding IN (?"+strings.Repeat(",?", len(findings)-1)+")) GROUP BY jdk) ORDER BY jdk",
		args...)
}
