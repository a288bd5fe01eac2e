package accounts_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/coordinator/accounts"
	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

func TestPeopleAreToldThatTheyAreNamed(t *testing.T) {
	l, mock := newPeople(t)
	named := func(name string) bool {
		l.now = l.now.Add(6 * time.Second) // what was read is no longer believed
		r, err := l.api.WhoAmI(l.with(mock.Sign(mock.Claims(name, l.now))), &misstepv1.WhoAmIRequest{})
		require.NoError(t, err)
		return r.GetNamed()
	}
	assert.False(t, named("anna@example.org"))
	require.NoError(t, l.store.Update(t.Context(), func(tx store.Tx) error {
		return tx.PutVisibility(&misstepv1.FindingVisibility{
			FindingId: "q/F1", Visibility: misstepv1.Visibility_VISIBILITY_PRIVATE, People: []string{"anna@example.org"},
		})
	}))
	assert.True(t, named("anna@example.org"), "in another project")
	assert.False(t, named("ben@example.org"))
}

// away is a store that cannot be read.
type away struct{ store.Store }

func (away) View(context.Context, func(store.Tx) error) error { return errors.New("away") }

func TestWhoMayBeNamedIsToldSo(t *testing.T) {
	service := accounts.New(accounts.Config{Store: away{memory.New()}})
	r, err := service.WhoAmI(t.Context(), &misstepv1.WhoAmIRequest{})
	require.NoError(t, err)
	assert.True(t, r.GetNamed(), "nobody knows")
}
