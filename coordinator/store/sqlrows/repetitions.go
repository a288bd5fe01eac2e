package sqlrows

import (
	"fmt"
	"strings"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

const repetitionColumns = "campaign, idx, lease, needs, owner, holder, agent, drawn, repetition"

var putRepetition = upsert("repetitions", "campaign, idx", repetitionColumns)

// PutRepetition implements store.Tx.
func (t *Tx) PutRepetition(r *store.Repetition) error {
	p := r.Proto
	raw, err := Marshal(p)
	if err != nil {
		return fmt.Errorf("write the repetition of trial %d of campaign %s: %w", r.Index, r.Campaign, err)
	}
	return t.Exec("store a repetition", putRepetition, r.Campaign, int64(r.Index), r.Lease, r.Needs, p.GetOwner(), p.GetHolder(),
		p.GetAgentDigest(), nanos(p.GetDrawn().AsTime()), raw)
}

// DeleteRepetition implements store.Tx.
func (t *Tx) DeleteRepetition(campaign string, index uint64) error {
	return t.Exec("remove a repetition", "DELETE FROM repetitions WHERE campaign = ? AND idx = ?", campaign, int64(index))
}

const selectRepetitions = "SELECT campaign, idx, lease, needs, repetition FROM repetitions WHERE "

func scanRepetition(scan func(...any) error) (*store.Repetition, error) {
	r := &store.Repetition{}
	var index int64
	var raw any
	err := scan(&r.Campaign, &index, &r.Lease, &r.Needs, &raw)
	if err != nil {
		return nil, err
	}
	r.Index = uint64(index)
	r.Proto, err = Unmarshal(raw, &misstepv1.Repetition{})
	return r, err
}

// Repetition implements store.Tx.
func (t *Tx) Repetition(campaign string, index uint64) (*store.Repetition, error) {
	r, err := scanRepetition(t.row(selectRepetitions+"campaign = ? AND idx = ?", campaign, int64(index)))
	if err != nil {
		return nil, fmt.Errorf("the repetition of trial %d of campaign %q: %w", index, campaign, err)
	}
	return r, nil
}

// Repetitions implements store.Tx.
func (t *Tx) Repetitions(f store.RepetitionFilter) ([]*store.Repetition, error) {
	where, args := []string{"1 = 1"}, []any(nil)
	add := func(condition string, with ...any) { where, args = append(where, condition), append(args, with...) }
	if !f.DrawnBy.IsZero() {
		add("drawn <= ?", nanos(f.DrawnBy))
	}
	if by := f.For; by != nil {
		add("lease = ''")
		add("(owner <> ? OR (holder <> ? AND drawn <= ?))", by.Owner, by.Holder, nanos(by.Late))
		add("agent IN ('', ?)", by.AgentDigest)
		needs := []any{""}
		for _, c := range by.Capabilities {
			needs = append(needs, c)
		}
		add("needs IN (?"+strings.Repeat(",?", len(needs)-1)+")", needs...)
	}
	query := selectRepetitions + strings.Join(where, " AND ") + " ORDER BY drawn, campaign, idx"
	if f.Limit > 0 {
		query, args = query+" LIMIT ?", append(args, f.Limit)
	}
	return List(t, "repetitions", scanRepetition, query, args...)
}

// CountRepetitions implements store.Tx.
func (t *Tx) CountRepetitions() (uint64, error) {
	var n int64
	if err := t.row("SELECT count(*) FROM repetitions WHERE lease = ''")(&n); err != nil {
		return 0, fmt.Errorf("count repetitions: %w", err)
	}
	return uint64(n), nil
}
