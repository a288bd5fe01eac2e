package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

func tokens(t *testing.T, s store.Store) {
	token := func(id, name string, age time.Duration) *store.Token {
		return &store.Token{Hash: []byte("hash of " + id), Proto: &misstepv1.Token{
			Id: id, Name: name, Made: timestamppb.New(t0.Add(-age)),
			Grants: []*misstepv1.Grant{{Project: "p", Role: misstepv1.Role_ROLE_HUNTER}},
		}}
	}
	update(t, s, func(tx store.Tx) {
		for _, row := range []*store.Token{
			token("b", "old", 2*time.Second), token("a", "first", time.Second), token("c", "", time.Second), token("d", "", 0),
			token("a", "second", time.Second),
		} {
			require.NoError(t, tx.PutToken(row))
		}
		require.NoError(t, tx.DeleteToken("d"))
		require.NoError(t, tx.DeleteToken("e"))
	})
	view(t, s, func(tx store.Tx) {
		all, err := tx.Tokens()
		require.NoError(t, err)
		assert.Equal(t, []string{"a", "c", "b"}, ids(all, func(r *store.Token) string { return r.Proto.GetId() }))
		row, err := tx.Token("a")
		require.NoError(t, err)
		equal(t, token("a", "second", time.Second).Proto, row.Proto)
		assert.Equal(t, []byte("hash of a"), row.Hash)
		_, err = tx.Token("d")
		require.ErrorIs(t, err, store.ErrNotFound)
		require.Error(t, tx.PutToken(token("f", "", 0)))
	})
}

func accessGrants(t *testing.T, s store.Store) {
	grant := func(person, group, project string, role misstepv1.Role) *misstepv1.AccessGrant {
		return &misstepv1.AccessGrant{
			Person: person, Group: group, Grant: &misstepv1.Grant{Project: project, Role: role}, GrantedBy: "anna",
		}
	}
	const viewer, hunter = misstepv1.Role_ROLE_VIEWER, misstepv1.Role_ROLE_HUNTER
	again := grant("b", "", "", hunter)
	again.GrantedBy = "ben"
	update(t, s, func(tx store.Tx) {
		for _, row := range []*misstepv1.AccessGrant{
			grant("", "g", "", viewer), grant("b", "", "p", hunter), grant("b", "", "", hunter), grant("b", "", "", viewer),
			grant("a", "", "q", hunter), grant("", "a", "q", hunter), again,
		} {
			require.NoError(t, tx.PutAccess(row))
		}
		require.NoError(t, tx.DeleteAccess(grant("", "a", "q", hunter)))
		require.NoError(t, tx.DeleteAccess(grant("b", "", "q", hunter)))
		require.NoError(t, tx.DeleteAccess(grant("", "b", "p", hunter)), "a group is no person")
	})
	view(t, s, func(tx store.Tx) {
		all, err := tx.Access()
		require.NoError(t, err)
		want := []*misstepv1.AccessGrant{
			grant("a", "", "q", hunter), grant("b", "", "", viewer), again, grant("b", "", "p", hunter), grant("", "g", "", viewer),
		}
		require.Len(t, all, len(want))
		for i := range want {
			equal(t, want[i], all[i])
		}
		require.Error(t, tx.PutAccess(again))
	})
}

func auditLog(t *testing.T, s store.Store) {
	entry := func(i int, caller string) *misstepv1.AuditEntry {
		return &misstepv1.AuditEntry{
			Id: 4711, At: timestamppb.New(t0.Add(time.Duration(i) * time.Minute)), Caller: caller, Call: "/c", Code: "OK", Count: 1,
		}
	}
	var added []uint64
	update(t, s, func(tx store.Tx) {
		for i := range 6 {
			id, err := tx.AddAudit(entry(i, []string{"anna", "ben"}[i%2]))
			require.NoError(t, err)
			added = append(added, id)
		}
	})
	assert.IsIncreasing(t, added)
	list := func(tx store.Tx, f store.AuditFilter) []uint64 {
		rows, err := tx.Audit(f)
		require.NoError(t, err)
		var out []uint64
		for _, r := range rows {
			out = append(out, r.GetId())
		}
		return out
	}
	view(t, s, func(tx store.Tx) {
		rows, err := tx.Audit(store.AuditFilter{Limit: 1})
		require.NoError(t, err)
		want := entry(5, "ben")
		want.Id = added[5]
		equal(t, want, rows[0])
		assert.Equal(t, []uint64{added[5], added[4], added[3], added[2], added[1], added[0]}, list(tx, store.AuditFilter{}))
		assert.Equal(t, []uint64{added[4], added[2]}, list(tx, store.AuditFilter{By: "anna", Limit: 2}))
		between := store.AuditFilter{By: "anna", Since: t0.Add(2 * time.Minute), Before: added[4]}
		assert.Equal(t, []uint64{added[2]}, list(tx, between))
		_, err = tx.AddAudit(entry(7, "anna"))
		require.Error(t, err)
		require.Error(t, tx.TrimAudit(t0, 0))
	})
	update(t, s, func(tx store.Tx) {
		require.NoError(t, tx.TrimAudit(t0.Add(2*time.Minute), 0))
		assert.Equal(t, []uint64{added[5], added[4], added[3], added[2]}, list(tx, store.AuditFilter{}))
		require.NoError(t, tx.TrimAudit(t0, added[5]))
		assert.Empty(t, list(tx, store.AuditFilter{}))
		id, err := tx.AddAudit(entry(8, "anna"))
		require.NoError(t, err)
		assert.Greater(t, id, added[5], "ids are not used again")
	})
}
