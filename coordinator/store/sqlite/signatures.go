package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"google.golang.org/protobuf/proto"

	"misstep/coordinator/store/sqlrows"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// upgradeSignatures is migration 40: it replaces the ids of findings with signatures of version 0 by those of version 1,
// everywhere.
func upgradeSignatures(ctx context.Context, db *sql.Tx) error {
	t := sqlrows.New(ctx, db, sqlrows.Question)
	ids, err := upgradeFindings(t)
	if err != nil {
		return err
	}
	rename := func(names []string) {
		for i, id := range names {
			names[i] = ids.of(id)
		}
	}
	if err := rewrite(t, "campaigns", "id", "tally", func(s *misstepv1.CampaignStatus) { rename(s.GetFindingIds()) }); err != nil {
		return err
	}
	if err := rewrite(t, "decisions", "id", "decision", func(d *misstepv1.TriageDecision) {
		d.Finding, d.Into = ids.of(d.GetFinding()), ids.of(d.GetInto())
	}); err != nil {
		return err
	}
	return rewrite(t, "reproductions", "id", "reproduction", func(r *misstepv1.Reproduction) {
		rename(r.GetOthers())
		if s := r.GetSpec(); s != nil {
			s.FindingId = ids.of(s.GetFindingId())
			if s.GetSignature() != nil {
				s.Signature, _ = signature.Upgrade(s.GetSignature())
			}
		}
		if f := r.GetReproducer().GetFinding(); f != nil {
			f.Id = ids.upgrade(f)
			rename(f.GetAliases())
			rename(f.GetFits())
		}
	})
}

// renamed maps old ids to new ones.
type renamed map[string]string

// of returns the id that a finding has now.
func (r renamed) of(id string) string {
	if now, ok := r[id]; ok {
		return now
	}
	return id
}

// upgrade upgrades a finding's signature and returns the finding's id: that of its row, whichever signature it shows.
func (r renamed) upgrade(f *misstepv1.Finding) string {
	id := f.GetId()
	signature.UpgradeFinding(f)
	if f.GetId() == id {
		return r.of(id)
	}
	return f.GetId()
}

// upgradeFindings rewrites the findings and renames them in the trials that showed them.
func upgradeFindings(t *sqlrows.Tx) (renamed, error) {
	all, err := t.Findings()
	if err != nil {
		return nil, err
	}
	ids := renamed{}
	for _, f := range all {
		old := f.Proto.GetId()
		if signature.UpgradeFinding(f.Proto); f.Proto.GetId() != old {
			ids[old] = f.Proto.GetId()
		}
	}
	for _, f := range all {
		for i, id := range f.Proto.GetFits() {
			f.Proto.Fits[i] = ids.of(id)
		}
		if err := t.PutFinding(f); err != nil {
			return nil, err
		}
	}
	for old, now := range ids {
		what := "rename finding " + old
		if err := t.Exec(what, "DELETE FROM findings WHERE id = ?", old); err != nil {
			return nil, err
		}
		// All ids have the same length, so none is a part of another.
		const inTrials = "UPDATE trials SET findings = replace(findings, ?, ?) " +
			"WHERE id IN (SELECT trial FROM shown WHERE finding = ?)"
		if err := t.Exec(what, inTrials, old, now, old); err != nil {
			return nil, err
		}
		if err := t.Exec(what, "UPDATE shown SET finding = ? WHERE finding = ?", now, old); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// rewrite changes the message in a column of each row.
func rewrite[T any, M interface {
	*T
	proto.Message
}](t *sqlrows.Tx, table, key, column string, change func(M)) error {
	type row struct{ key, blob any }
	rows, err := sqlrows.List(t, table, func(scan func(...any) error) (r row, err error) {
		return r, scan(&r.key, &r.blob)
	}, fmt.Sprintf("SELECT %s, %s FROM %s", key, column, table))
	if err != nil {
		return err
	}
	for _, r := range rows {
		message, err := sqlrows.Unmarshal(r.blob, M(new(T)))
		if err != nil {
			return fmt.Errorf("read %s %v: %w", table, r.key, err)
		}
		if message == nil {
			continue
		}
		change(message)
		raw, err := sqlrows.Marshal(message)
		if err != nil {
			return fmt.Errorf("write %s %v: %w", table, r.key, err)
		}
		what, query := fmt.Sprintf("rewrite %s %v", table, r.key),
			fmt.Sprintf("UPDATE %s SET %s = ? WHERE %s = ?", table, column, key)
		if err := t.Exec(what, query, raw, r.key); err != nil {
			return err
		}
	}
	return nil
}
