package memory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// grantKey is what distinguishes grants.
type grantKey struct {
	group, person, project string
	role                   misstepv1.Role
}

func grantKeyOf(a *misstepv1.AccessGrant) grantKey {
	return grantKey{a.GetGroup(), a.GetPerson(), a.GetGrant().GetProject(), a.GetGrant().GetRole()}
}

func cloneToken(t *store.Token) *store.Token {
	return &store.Token{Proto: proto.CloneOf(t.Proto), Hash: slices.Clone(t.Hash)}
}

func (t *tx) PutToken(token *store.Token) error {
	return set(t, t.s.tokens, token.Proto.GetId(), cloneToken(token))
}

func (t *tx) DeleteToken(id string) error { return unset(t, t.s.tokens, id) }

func (t *tx) Token(id string) (*store.Token, error) {
	token, ok := t.s.tokens[id]
	if !ok {
		return nil, fmt.Errorf("token %q: %w", id, store.ErrNotFound)
	}
	return cloneToken(token), nil
}

func (t *tx) Tokens() ([]*store.Token, error) {
	out := make([]*store.Token, 0, len(t.s.tokens))
	for _, token := range t.s.tokens {
		out = append(out, cloneToken(token))
	}
	slices.SortFunc(out, func(a, b *store.Token) int {
		return cmp.Or(b.Proto.GetMade().AsTime().Compare(a.Proto.GetMade().AsTime()), cmp.Compare(a.Proto.GetId(), b.Proto.GetId()))
	})
	return out, nil
}

func (t *tx) PutAccess(a *misstepv1.AccessGrant) error {
	return set(t, t.s.access, grantKeyOf(a), proto.CloneOf(a))
}

func (t *tx) DeleteAccess(a *misstepv1.AccessGrant) error { return unset(t, t.s.access, grantKeyOf(a)) }

func (t *tx) Access() ([]*misstepv1.AccessGrant, error) {
	keys := slices.SortedFunc(maps.Keys(t.s.access), func(a, b grantKey) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.person, b.person), cmp.Compare(a.project, b.project),
			cmp.Compare(a.role, b.role))
	})
	out := make([]*misstepv1.AccessGrant, 0, len(keys))
	for _, k := range keys {
		out = append(out, proto.CloneOf(t.s.access[k]))
	}
	return out, nil
}

func (t *tx) AddAudit(e *misstepv1.AuditEntry) (uint64, error) {
	if !t.writable {
		return 0, errReadOnly
	}
	row, before := proto.CloneOf(e), t.s.audit
	t.undo = append(t.undo, func() {
		t.s.audit = before
		t.s.nextAudit--
	})
	t.s.nextAudit++
	row.Id = t.s.nextAudit
	t.s.audit = append(t.s.audit, row)
	return row.GetId(), nil
}

func (t *tx) Audit(f store.AuditFilter) ([]*misstepv1.AuditEntry, error) {
	var out []*misstepv1.AuditEntry
	for _, e := range slices.Backward(t.s.audit) {
		if f.Limit > 0 && len(out) >= f.Limit {
			break
		}
		if f.Matches(e) {
			out = append(out, proto.CloneOf(e))
		}
	}
	return out, nil
}

func (t *tx) TrimAudit(before time.Time, upTo uint64) error {
	if !t.writable {
		return errReadOnly
	}
	old := t.s.audit
	t.undo = append(t.undo, func() { t.s.audit = old })
	t.s.audit = nil
	for _, e := range old {
		if !e.GetAt().AsTime().Before(before) && e.GetId() > upTo {
			t.s.audit = append(t.s.audit, e)
		}
	}
	return nil
}
