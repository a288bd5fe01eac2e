package accounts_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/coordinator/access"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

func TestATokenIsItsCaller(t *testing.T) {
	l := newLab(t, nil)
	secret := l.token("ci", grant("p", hunter), grant("", viewer))
	assert.Regexp(t, `^misstep_[0-9a-v]{10}_[0-9a-v]{52}$`, secret)
	me, err := l.api.WhoAmI(l.with(secret), &misstepv1.WhoAmIRequest{})
	require.NoError(t, err)
	assert.Equal(t, "token ci", me.GetName())
	assert.Equal(t, "token", me.GetKind())
	require.Len(t, me.GetGrants(), 2)
	assert.True(t, proto.Equal(grant("p", hunter), me.GetGrants()[0]))

	_, err = l.api.ListAccess(l.with(secret), &misstepv1.ListAccessRequest{})
	require.Equal(t, codes.PermissionDenied, status.Code(err))
	_, err = l.api.WhoAmI(l.with(""), &misstepv1.WhoAmIRequest{})
	require.Equal(t, codes.Unauthenticated, status.Code(err))
	login, err := l.api.GetLogin(l.with("misstep_bad"), &misstepv1.GetLoginRequest{})
	require.NoError(t, err, "a bad credential does not keep anyone from logging in")
	assert.True(t, login.GetAuthentication())
	assert.Empty(t, login.GetIssuer())
}

// The store has no part of the secret, and two tokens have nothing in common.
func TestTheSecretIsShownOnce(t *testing.T) {
	l := newLab(t, nil)
	a, b := l.token("a", grant("", viewer)), l.token("a", grant("", viewer))
	assert.NotEqual(t, a, b)
	require.NoError(t, l.store.View(t.Context(), func(tx store.Tx) error {
		all, err := tx.Tokens()
		require.NoError(t, err)
		require.Len(t, all, 2)
		for _, row := range all {
			raw, err := proto.Marshal(row.Proto)
			require.NoError(t, err)
			for _, secret := range []string{a, b} {
				part := []byte(secret[strings.LastIndexByte(secret, '_')+1:])
				assert.False(t, bytes.Contains(append(raw, row.Hash...), part[:20]))
			}
			assert.Len(t, row.Hash, 32)
		}
		return nil
	}))
}

func TestTokensThatAreNotValid(t *testing.T) {
	l := newLab(t, nil)
	good := l.token("ci", grant("", viewer))
	other := newLab(t, nil).token("ci", grant("", admin))
	revoked := l.token("old", grant("", viewer))
	_, err := l.service.RevokeToken(t.Context(), &misstepv1.RevokeTokenRequest{TokenId: revoked[8:18]})
	require.NoError(t, err)
	otherSecret := good[:19] + other[19:]
	for name, test := range map[string]struct{ credential, message string }{
		"foreign":          {other, "not valid at this coordinator"},
		"another's secret": {otherSecret, "not valid at this coordinator"},
		"revoked":          {revoked, "was revoked at 2026-11-26T12:00:00Z by local"},
		"cut":              {good[:40], "malformed"},
		"longer":           {good + "0", "malformed"},
		"in upper case":    {"misstep_" + strings.ToUpper(good[8:]), "all of 0-9 and a-v"},
		"a wrong letter":   {good[:70] + "z", "all of 0-9 and a-v"},
		"prefix only":      {"misstep_", "malformed"},
		"no token":         {"hello", "the given token does not begin with misstep_, and people cannot log in at this coordinator"},
		"huge":             {"misstep_" + strings.Repeat("0", 1<<15), "malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := l.api.WhoAmI(l.with(test.credential), &misstepv1.WhoAmIRequest{})
			require.Equal(t, codes.Unauthenticated, status.Code(err), err)
			assert.Contains(t, status.Convert(err).Message(), test.message)
			assert.NotContains(t, status.Convert(err).Message(), good[19:], "no secret in a text")
		})
	}
	for _, header := range []string{"Basic " + good, good, "Bearer", ""} {
		_, err = l.api.WhoAmI(metadata.AppendToOutgoingContext(t.Context(), "authorization", header), &misstepv1.WhoAmIRequest{})
		require.Equal(t, codes.Unauthenticated, status.Code(err), header)
		assert.Contains(t, status.Convert(err).Message(), "the header authorization is malformed")
	}
	twice := metadata.AppendToOutgoingContext(l.with(good), "authorization", "Bearer "+good)
	_, err = l.api.WhoAmI(twice, &misstepv1.WhoAmIRequest{})
	require.Equal(t, codes.Unauthenticated, status.Code(err), "two headers")
	_, err = l.api.WhoAmI(l.with(good), &misstepv1.WhoAmIRequest{})
	require.NoError(t, err)
	l.now = l.now.Add(90*24*time.Hour - time.Second)
	_, err = l.api.WhoAmI(l.with(good), &misstepv1.WhoAmIRequest{})
	require.NoError(t, err)
	l.now = l.now.Add(time.Second)
	_, err = l.api.WhoAmI(l.with(good), &misstepv1.WhoAmIRequest{})
	require.ErrorContains(t, err, "expired at 2027-02-24T12:00:00Z")
}

// A token that another coordinator on the store revoked is valid for a few seconds at most, one that this one revoked not at all.
func TestRevocationTakesEffect(t *testing.T) {
	l := newLab(t, nil)
	a, b := l.token("a", grant("", viewer)), l.token("b", grant("", viewer))
	who := func(secret string) error {
		_, err := l.api.WhoAmI(l.with(secret), &misstepv1.WhoAmIRequest{})
		return err
	}
	require.NoError(t, who(a))
	require.NoError(t, who(b))
	_, err := l.service.RevokeToken(t.Context(), &misstepv1.RevokeTokenRequest{TokenId: a[8:18]})
	require.NoError(t, err)
	require.ErrorContains(t, who(a), "was revoked")
	require.NoError(t, l.store.Update(t.Context(), func(tx store.Tx) error { // as another coordinator does
		row, err := tx.Token(b[8:18])
		require.NoError(t, err)
		row.Proto.Expires = row.Proto.GetMade()
		return tx.PutToken(row)
	}))
	l.now = l.now.Add(6 * time.Second)
	require.ErrorContains(t, who(b), "expired")
}

func TestATokenDoesNoMoreThanItsMaker(t *testing.T) {
	l := newLab(t, nil)
	anna := func(name string, lifetime *durationpb.Duration, grants ...*misstepv1.Grant) error {
		ctx := access.With(t.Context(), &access.Caller{
			Name: "anna@example.org", Kind: access.Person, Grants: []access.Grant{{Project: "p", Role: hunter}, {Role: triager}},
		})
		_, err := l.service.CreateToken(ctx, &misstepv1.CreateTokenRequest{Name: name, Grants: grants, Lifetime: lifetime})
		return err
	}
	require.NoError(t, anna("ok", nil, grant("p", hunter), grant("", viewer), grant("q", triager)))
	require.NoError(t, anna("ok", durationpb.New(366*24*time.Hour), grant("p", viewer)), "the same name, to replace the other one")
	for message, err := range map[string]error{
		"anna@example.org is not hunter, so":                  anna("ci", nil, grant("", hunter)),
		"anna@example.org is not hunter in q, so":             anna("ci", nil, grant("p", viewer), grant("q", hunter)),
		"anna@example.org is not runner in p, so":             anna("ci", nil, grant("p", runner)),
		"anna@example.org is not admin, so":                   anna("ci", nil, grant("", admin)),
		"authenticated cannot be granted":                     anna("ci", nil, grant("", misstepv1.Role_ROLE_AUTHENTICATED)),
		"unspecified cannot be granted":                       anna("ci", nil, grant("", 0)),
		"expected 1 to 32 grants, got 0":                      anna("ci", nil),
		"expected 1 to 32 grants, got 33":                     anna("ci", nil, make([]*misstepv1.Grant, 33)...),
		`"../p" is no name of a project`:                      anna("ci", nil, grant("../p", viewer)),
		`beginning with a letter or a digit, got ""`:          anna("", nil, grant("p", viewer)),
		`beginning with a letter or a digit, got "a b"`:       anna("a b", nil, grant("p", viewer)),
		"lifetime: expected 1m0s to 8784h0m0s, got 8784h0m1s": anna("ci", durationpb.New(366*24*time.Hour+time.Second), grant("p", viewer)),
		"lifetime: expected 1m0s to 8784h0m0s, got 0s":        anna("ci", durationpb.New(0), grant("p", viewer)),
		"lifetime: expected 1m0s to 8784h0m0s, got -1h0m0s":   anna("ci", durationpb.New(-time.Hour), grant("p", viewer)),
		"has seconds and nanos with different signs":          anna("ci", &durationpb.Duration{Seconds: 1, Nanos: -1}, grant("p", viewer)),
	} {
		require.ErrorContains(t, err, message)
	}
	for range 98 {
		require.NoError(t, anna("many", nil, grant("p", viewer)))
	}
	err := anna("many", nil, grant("p", viewer))
	require.ErrorContains(t, err, "anna@example.org has 100 valid tokens")
	require.Equal(t, codes.ResourceExhausted, status.Code(err))

	root := l.token("root", grant("", admin))
	made, err := l.api.CreateToken(l.with(root), &misstepv1.CreateTokenRequest{
		Name: "ci", Grants: []*misstepv1.Grant{grant("", hunter)},
	})
	require.NoError(t, err)
	assert.Equal(t, "token root", made.GetToken().GetMadeBy())
	me, err := l.api.WhoAmI(l.with(made.GetSecret()), &misstepv1.WhoAmIRequest{})
	require.NoError(t, err)
	assert.Equal(t, "token token root/ci", me.GetName())
	_, err = l.api.CreateToken(l.with(made.GetSecret()), &misstepv1.CreateTokenRequest{
		Name: "more", Grants: []*misstepv1.Grant{grant("", viewer)},
	})
	require.Equal(t, codes.PermissionDenied, status.Code(err), "a token that leaked makes no others")
}

func TestWhoRevokesWhichToken(t *testing.T) {
	l := newLab(t, nil)
	anna := access.With(t.Context(), &access.Caller{Name: "anna", Kind: access.Person, Grants: []access.Grant{{Role: hunter}}})
	ben := access.With(t.Context(), &access.Caller{Name: "ben", Kind: access.Person, Grants: []access.Grant{{Role: hunter}}})
	create := func() (id, secret string) {
		r, err := l.service.CreateToken(anna, &misstepv1.CreateTokenRequest{
			Name: "ci", Grants: []*misstepv1.Grant{grant("", hunter)},
		})
		require.NoError(t, err)
		return r.GetToken().GetId(), r.GetSecret()
	}
	id, secret := create()
	_, err := l.service.RevokeToken(ben, &misstepv1.RevokeTokenRequest{TokenId: id})
	require.Equal(t, codes.NotFound, status.Code(err), "ben does not learn whose ids exist")
	_, err = l.service.RevokeToken(ben, &misstepv1.RevokeTokenRequest{MadeBy: "anna"})
	require.Equal(t, codes.PermissionDenied, status.Code(err))
	list, err := l.service.ListTokens(ben, &misstepv1.ListTokensRequest{})
	require.NoError(t, err)
	assert.Empty(t, list.GetTokens())

	r, err := l.service.RevokeToken(ben, &misstepv1.RevokeTokenRequest{TokenId: secret})
	require.NoError(t, err, "whoever has found one may end it")
	require.Len(t, r.GetTokens(), 1)
	assert.Equal(t, "ben", r.GetTokens()[0].GetRevokedBy())
	r, err = l.service.RevokeToken(anna, &misstepv1.RevokeTokenRequest{TokenId: id})
	require.NoError(t, err)
	assert.Empty(t, r.GetTokens(), "it was revoked before")

	create()
	create()
	r, err = l.service.RevokeToken(t.Context(), &misstepv1.RevokeTokenRequest{MadeBy: "anna"})
	require.NoError(t, err)
	assert.Len(t, r.GetTokens(), 2)
	list, err = l.service.ListTokens(anna, &misstepv1.ListTokensRequest{})
	require.NoError(t, err)
	assert.Len(t, list.GetTokens(), 3)
	l.now = l.now.Add(91 * 24 * time.Hour)
	list, err = l.service.ListTokens(t.Context(), &misstepv1.ListTokensRequest{})
	require.NoError(t, err)
	assert.Empty(t, list.GetTokens(), "they ended long ago")

	for _, req := range []*misstepv1.RevokeTokenRequest{
		{}, {TokenId: id, MadeBy: "anna"}, {TokenId: secret[:50]}, {TokenId: "*"},
	} {
		_, err = l.service.RevokeToken(t.Context(), req)
		require.Equal(t, codes.InvalidArgument, status.Code(err), req)
		assert.NotContains(t, err.Error(), secret[19:50])
	}
}
