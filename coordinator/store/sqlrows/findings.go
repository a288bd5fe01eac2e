package sqlrows

import (
	"fmt"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

const findingColumns = "id, last_seen, finding, weight"

var replaceFinding = replace("id", findingColumns)

// PutFinding implements store.Tx.
func (t *Tx) PutFinding(f *store.Finding) error { return t.PutFindings([]*store.Finding{f}) }

// PutFindings implements store.Bulk.
func (t *Tx) PutFindings(all []*store.Finding) error {
	_, err := put(t, "findings", "findings", findingColumns, replaceFinding, all, func(f *store.Finding) ([]any, error) {
		raw, err := Marshal(f.Proto)
		if err != nil {
			return nil, fmt.Errorf("write finding %s: %w", f.Proto.GetId(), err)
		}
		return []any{f.Proto.GetId(), nanos(f.Proto.GetLastSeen().AsTime()), raw, f.Weight}, nil
	})
	return err
}

func scanFinding(scan func(...any) error) (*store.Finding, error) {
	f := &store.Finding{}
	var raw any
	if err := scan(&raw, &f.Weight); err != nil {
		return nil, err
	}
	var err error
	f.Proto, err = Unmarshal(raw, &misstepv1.Finding{})
	return f, err
}

// Finding implements store.Tx.
func (t *Tx) Finding(id string) (*store.Finding, error) {
	f, err := scanFinding(t.row("SELECT finding, weight FROM findings WHERE id = ?", id))
	if err != nil {
		return nil, fmt.Errorf("finding %q: %w", id, err)
	}
	return f, nil
}

// Findings implements store.Tx.
func (t *Tx) Findings() ([]*store.Finding, error) {
	return List(t, "findings", scanFinding, "SELECT finding, weight FROM findings ORDER BY last_seen DESC, id")
}

// AddDecision implements store.Tx.
func (t *Tx) AddDecision(d *misstepv1.TriageDecision) (uint64, error) {
	raw, err := Marshal(d)
	if err != nil {
		return 0, fmt.Errorf("write a decision: %w", err)
	}
	var id int64
	if err := t.insert("INSERT INTO decisions (decision) VALUES (?) RETURNING id", raw)(&id); err != nil {
		return 0, fmt.Errorf("store a decision: %w", err)
	}
	return uint64(id), nil
}

// LoadDecision implements store.Loader.
func (t *Tx) LoadDecision(d *misstepv1.TriageDecision) error {
	raw, err := Marshal(d)
	if err != nil {
		return fmt.Errorf("write a decision: %w", err)
	}
	return t.Exec("store a decision", "INSERT INTO decisions (id, decision) VALUES (?,?)", int64(d.GetId()), raw)
}

// PutDecision implements store.Tx.
func (t *Tx) PutDecision(d *misstepv1.TriageDecision) error {
	raw, err := Marshal(d)
	if err != nil {
		return fmt.Errorf("write decision %d: %w", d.GetId(), err)
	}
	n, err := t.change(fmt.Sprintf("store decision %d", d.GetId()), "UPDATE decisions SET decision = ? WHERE id = ?", raw,
		int64(d.GetId()))
	if err == nil && n == 0 {
		err = fmt.Errorf("decision %d: %w", d.GetId(), store.ErrNotFound)
	}
	return err
}

// Decisions implements store.Tx.
func (t *Tx) Decisions() ([]*misstepv1.TriageDecision, error) {
	return List(t, "decisions", func(scan func(...any) error) (*misstepv1.TriageDecision, error) {
		var id int64
		var raw any
		if err := scan(&id, &raw); err != nil {
			return nil, err
		}
		d, err := Unmarshal(raw, &misstepv1.TriageDecision{})
		d.Id = uint64(id)
		return d, err
	}, "SELECT id, decision FROM decisions ORDER BY id")
}

var putKnownBug = upsert("known_bugs", "id", "id, bug")

// PutKnownBug implements store.Tx.
func (t *Tx) PutKnownBug(b *misstepv1.KnownBug) error {
	raw, err := Marshal(b)
	if err != nil {
		return fmt.Errorf("write known bug %s: %w", b.GetId(), err)
	}
	return t.Exec("store known bug "+b.GetId(), putKnownBug, b.GetId(), raw)
}

// DeleteKnownBug implements store.Tx.
func (t *Tx) DeleteKnownBug(id string) error {
	return t.Exec("remove known bug "+id, "DELETE FROM known_bugs WHERE id = ?", id)
}

// KnownBugs implements store.Tx.
func (t *Tx) KnownBugs() ([]*misstepv1.KnownBug, error) {
	return List(t, "known bugs", func(scan func(...any) error) (*misstepv1.KnownBug, error) {
		var raw any
		if err := scan(&raw); err != nil {
			return nil, err
		}
		return Unmarshal(raw, &misstepv1.KnownBug{})
	}, "SELECT bug FROM known_bugs ORDER BY id")
}
