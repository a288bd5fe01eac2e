package accounts_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"misstep/coordinator/accounts"
	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

// counting counts the transactions that read.
type counting struct {
	store.Store
	views atomic.Int64
}

func (c *counting) View(ctx context.Context, f func(store.Tx) error) error {
	c.views.Add(1)
	return c.Store.View(ctx, f)
}

// door is a service at which callers knock from addresses.
type door struct {
	*testing.T
	now     time.Time
	store   *counting
	service *accounts.Service
	limited atomic.Int64
}

func newDoor(t *testing.T) *door {
	d := &door{T: t, now: time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC), store: &counting{Store: memory.New()}}
	d.service = accounts.New(accounts.Config{
		Store: d.store, Clock: func() time.Time { return d.now }, Asked: true, Limited: func(string) { d.limited.Add(1) },
	})
	return d
}

func (d *door) token(service *accounts.Service, name string) string {
	r, err := service.CreateToken(d.Context(), &misstepv1.CreateTokenRequest{
		Name: name, Grants: []*misstepv1.Grant{grant("", runner)},
	})
	require.NoError(d, err)
	return r.GetSecret()
}

// knock shows a credential from an address.
func knock(ctx context.Context, s *accounts.Service, address, credential string) error {
	ctx = peer.NewContext(ctx, &peer.Peer{Addr: &net.TCPAddr{IP: net.ParseIP(address), Port: 4711}})
	_, err := s.Authenticate(metadata.NewIncomingContext(ctx, metadata.Pairs("authorization", "Bearer "+credential)))
	return err
}

// guess is a token that does not exist.
func guess(i int) string { return fmt.Sprintf("misstep_%010d_%s", i, strings.Repeat("v", 52)) }

// Bad tokens from one address are soon refused without a look into the store, and good ones from there never are.
func TestBadTokensFromOneAddressAreRefusedUnread(t *testing.T) {
	d := newDoor(t)
	good := []string{d.token(d.service, "a"), d.token(d.service, "b"), d.token(d.service, "c")}
	const at = "192.0.2.7"
	for i := range 30 {
		require.Equal(t, codes.Unauthenticated, status.Code(knock(t.Context(), d.service, at, guess(i))), i)
	}
	before := d.store.views.Load()
	for i := range 1000 {
		err := knock(t.Context(), d.service, at, guess(i))
		require.Equal(t, codes.ResourceExhausted, status.Code(err), err)
		require.Contains(t, err.Error(),
			"too many bad credentials came from 192.0.2.7, and this token is not known: come back in 1s")
		require.Equal(t, time.Second, status.Convert(err).Details()[0].(*errdetails.RetryInfo).GetRetryDelay().AsDuration())
	}
	assert.LessOrEqual(t, d.store.views.Load()-before, int64(1), "ids are read once")
	assert.EqualValues(t, 1000, d.limited.Load())

	for _, g := range good { // none was shown before
		require.NoError(t, knock(t.Context(), d.service, at, g))
	}
	err := knock(t.Context(), d.service, at, good[0][:len(good[0])-52]+strings.Repeat("0", 52))
	assert.Equal(t, codes.Unauthenticated, status.Code(err), "its id exists, so it may be known what is wrong")
	require.Equal(t, codes.Unauthenticated, status.Code(knock(t.Context(), d.service, "192.0.2.8", guess(1))), "another address")
	d.now = d.now.Add(time.Second)
	require.Equal(t, codes.Unauthenticated, status.Code(knock(t.Context(), d.service, at, guess(1))), "one more after a second")
	require.Equal(t, codes.ResourceExhausted, status.Code(knock(t.Context(), d.service, at, guess(1))))

	// A token that another coordinator of the store makes now is known after the time for which anything is remembered.
	other := accounts.New(accounts.Config{Store: d.store, Clock: func() time.Time { return d.now }, Asked: true})
	late := d.token(other, "late")
	require.Equal(t, codes.ResourceExhausted, status.Code(knock(t.Context(), d.service, at, late)))
	for range 5 { // the attempts do not end
		d.now = d.now.Add(time.Second)
		_ = knock(t.Context(), d.service, at, guess(1))
	}
	require.NoError(t, knock(t.Context(), d.service, at, late))

	d.now = d.now.Add(200 * 24 * time.Hour)
	for i := range 40 {
		_ = knock(t.Context(), d.service, at, guess(i))
	}
	err = knock(t.Context(), d.service, at, good[0])
	assert.Equal(t, codes.Unauthenticated, status.Code(err))
	assert.Contains(t, err.Error(), "expired at", "whose token ended learns why, whoever else tries")
}

// One host may have any address of its network.
func TestAddressesOfOneIPv6NetworkCountTogether(t *testing.T) {
	d := newDoor(t)
	last := codes.OK
	for i := range 31 {
		last = status.Code(knock(t.Context(), d.service, fmt.Sprintf("2001:db8:1:2::%x", i+1), guess(i)))
	}
	assert.Equal(t, codes.ResourceExhausted, last)
	assert.Equal(t, codes.Unauthenticated, status.Code(knock(t.Context(), d.service, "2001:db8:1:3::1", guess(1))))
}

// Attempts from very many addresses, and at once, take bounded memory and stop nobody.
func TestAttemptsFromEverywhere(t *testing.T) {
	d := newDoor(t)
	good := d.token(d.service, "a")
	var trying sync.WaitGroup
	for part := range 8 {
		trying.Go(func() {
			for i := range 2000 {
				_ = knock(t.Context(), d.service, fmt.Sprintf("198.%d.%d.%d", part, i/256, i%256), guess(i))
			}
		})
	}
	for range 1000 {
		require.NoError(t, knock(t.Context(), d.service, "198.0.0.1", good))
	}
	trying.Wait()
}

// However many tokens no key of the provider has signed, it is asked for its keys seldom, and people who logged in get in.
func TestForgedIdentityTokensDoNotReachTheProvider(t *testing.T) {
	l, mock := newPeople(t)
	claims := mock.Claims("anna@example.org", l.now)
	good := mock.Sign(claims)
	require.NoError(t, knock(t.Context(), l.service, "192.0.2.7", good))
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	answers := map[codes.Code]int{}
	for i := range 200 {
		forged := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
		forged.Header["kid"] = fmt.Sprint(i)
		raw, err := forged.SignedString(key)
		require.NoError(t, err)
		err = knock(t.Context(), l.service, "192.0.2.7", raw)
		answers[status.Code(err)]++
		if status.Code(err) == codes.ResourceExhausted {
			assert.Contains(t, err.Error(), "if its keys are new, come back in 5s")
		}
	}
	assert.LessOrEqual(t, answers[codes.Unauthenticated], 10, "each of them asked the provider: %v", answers)
	assert.Equal(t, 200, answers[codes.Unauthenticated]+answers[codes.ResourceExhausted])
	require.NoError(t, knock(t.Context(), l.service, "192.0.2.7", good))
}
