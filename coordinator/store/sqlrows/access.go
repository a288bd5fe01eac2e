package sqlrows

import (
	"fmt"
	"strings"
	"time"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

var putToken = upsert("tokens", "id", "id, made, hash, token")

// PutToken implements store.Tx.
func (t *Tx) PutToken(token *store.Token) error {
	id := token.Proto.GetId()
	raw, err := Marshal(token.Proto)
	if err != nil {
		return fmt.Errorf("write token %s: %w", id, err)
	}
	return t.Exec("store token "+id, putToken, id, nanos(token.Proto.GetMade().AsTime()), token.Hash, raw)
}

// DeleteToken implements store.Tx.
func (t *Tx) DeleteToken(id string) error {
	return t.Exec("remove token "+id, "DELETE FROM tokens WHERE id = ?", id)
}

func scanToken(scan func(...any) error) (*store.Token, error) {
	token := &store.Token{}
	var raw any
	if err := scan(&token.Hash, &raw); err != nil {
		return nil, err
	}
	var err error
	token.Proto, err = Unmarshal(raw, &misstepv1.Token{})
	return token, err
}

// Token implements store.Tx.
func (t *Tx) Token(id string) (*store.Token, error) {
	token, err := scanToken(t.row("SELECT hash, token FROM tokens WHERE id = ?", id))
	if err != nil {
		return nil, fmt.Errorf("token %q: %w", id, err)
	}
	return token, nil
}

// Tokens implements store.Tx.
func (t *Tx) Tokens() ([]*store.Token, error) {
	return List(t, "tokens", scanToken, "SELECT hash, token FROM tokens ORDER BY made DESC, id")
}

var putAccess = upsert("access", "person, team, project, role", "person, team, project, role, access")

// PutAccess implements store.Tx.
func (t *Tx) PutAccess(a *misstepv1.AccessGrant) error {
	raw, err := Marshal(a)
	if err != nil {
		return fmt.Errorf("write what is granted to %s%s: %w", a.GetPerson(), a.GetGroup(), err)
	}
	return t.Exec("store what is granted to "+a.GetPerson()+a.GetGroup(), putAccess, a.GetPerson(), a.GetGroup(),
		a.GetGrant().GetProject(), int64(a.GetGrant().GetRole()), raw)
}

// DeleteAccess implements store.Tx.
func (t *Tx) DeleteAccess(a *misstepv1.AccessGrant) error {
	return t.Exec("remove what is granted to "+a.GetPerson()+a.GetGroup(),
		"DELETE FROM access WHERE person = ? AND team = ? AND project = ? AND role = ?", a.GetPerson(), a.GetGroup(),
		a.GetGrant().GetProject(), int64(a.GetGrant().GetRole()))
}

// Access implements store.Tx.
func (t *Tx) Access() ([]*misstepv1.AccessGrant, error) {
	return List(t, "what is granted", func(scan func(...any) error) (*misstepv1.AccessGrant, error) {
		var raw any
		if err := scan(&raw); err != nil {
			return nil, err
		}
		return Unmarshal(raw, &misstepv1.AccessGrant{})
	}, "SELECT access FROM access ORDER BY team, person, project, role")
}

// auditRow returns the columns of an entry except its id.
func auditRow(e *misstepv1.AuditEntry) ([]any, error) {
	raw, err := Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("write an entry of the audit log: %w", err)
	}
	return []any{nanos(e.GetAt().AsTime()), e.GetCaller(), raw}, nil
}

// AddAudit implements store.Tx.
func (t *Tx) AddAudit(e *misstepv1.AuditEntry) (uint64, error) {
	row, err := auditRow(e)
	if err != nil {
		return 0, err
	}
	var id int64
	if err := t.insert("INSERT INTO audit (at, caller, entry) VALUES (?,?,?) RETURNING id", row...)(&id); err != nil {
		return 0, fmt.Errorf("store an entry of the audit log: %w", err)
	}
	return uint64(id), nil
}

// LoadAudit implements store.Loader.
func (t *Tx) LoadAudit(e *misstepv1.AuditEntry) error {
	row, err := auditRow(e)
	if err != nil {
		return err
	}
	return t.Exec("store an entry of the audit log", "INSERT INTO audit (at, caller, entry, id) VALUES (?,?,?,?)",
		append(row, int64(e.GetId()))...)
}

// Audit implements store.Tx.
func (t *Tx) Audit(f store.AuditFilter) ([]*misstepv1.AuditEntry, error) {
	var where []string
	var args []any
	add := func(condition string, value any) {
		where, args = append(where, condition), append(args, value)
	}
	if !f.Since.IsZero() {
		add("at >= ?", nanos(f.Since))
	}
	if f.By != "" {
		add("caller = ?", f.By)
	}
	if f.Before > 0 {
		add("id < ?", int64(f.Before))
	}
	query := "SELECT id, entry FROM audit"
	if len(where) > 0 {
		query += " WHERE " + strings.Join(where, " AND ")
	}
	query += " ORDER BY id DESC"
	if f.Limit > 0 {
		query, args = query+" LIMIT ?", append(args, f.Limit)
	}
	return List(t, "entries of the audit log", func(scan func(...any) error) (*misstepv1.AuditEntry, error) {
		var id int64
		var raw any
		if err := scan(&id, &raw); err != nil {
			return nil, err
		}
		e, err := Unmarshal(raw, &misstepv1.AuditEntry{})
		if err == nil {
			e.Id = uint64(id)
		}
		return e, err
	}, query, args...)
}

// TrimAudit implements store.Tx.
func (t *Tx) TrimAudit(before time.Time, upTo uint64) error {
	return t.Exec("shorten the audit log", "DELETE FROM audit WHERE at < ? OR id <= ?", nanos(before), int64(upTo))
}
