package batch

import (
	"time"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

func (t *through) PutToken(token *store.Token) error {
	return t.written(func() error { return t.tx.PutToken(token) })
}

func (t *through) DeleteToken(id string) error {
	return t.written(func() error { return t.tx.DeleteToken(id) })
}

func (t *through) Token(id string) (*store.Token, error) {
	return seen(t, func() (*store.Token, error) { return t.tx.Token(id) })
}

func (t *through) Tokens() ([]*store.Token, error) { return seen(t, t.tx.Tokens) }

func (t *through) PutAccess(a *misstepv1.AccessGrant) error {
	return t.written(func() error { return t.tx.PutAccess(a) })
}

func (t *through) DeleteAccess(a *misstepv1.AccessGrant) error {
	return t.written(func() error { return t.tx.DeleteAccess(a) })
}

func (t *through) Access() ([]*misstepv1.AccessGrant, error) { return seen(t, t.tx.Access) }

func (t *through) AddAudit(e *misstepv1.AuditEntry) (id uint64, err error) {
	err = t.written(func() error {
		id, err = t.tx.AddAudit(e)
		return err
	})
	return id, err
}

func (t *through) Audit(f store.AuditFilter) ([]*misstepv1.AuditEntry, error) {
	return seen(t, func() ([]*misstepv1.AuditEntry, error) { return t.tx.Audit(f) })
}

func (t *through) TrimAudit(before time.Time, upTo uint64) error {
	return t.written(func() error { return t.tx.TrimAudit(before, upTo) })
}
