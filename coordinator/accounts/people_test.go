package accounts_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/coordinator/access"
	"misstep/coordinator/accounts"
	"misstep/internal/testenv/oidctest"
	misstepv1 "misstep/proto/misstep/v1"
)

// newPeople is a lab with a provider.
func newPeople(t *testing.T, configure ...func(*accounts.ProviderConfig)) (*lab, *oidctest.Provider) {
	mock := oidctest.Start(t)
	var l *lab
	config := accounts.ProviderConfig{
		Issuer: mock.Issuer(), ClientID: mock.ClientID, Clock: func() time.Time { return l.now },
	}
	for _, c := range configure {
		c(&config)
	}
	provider, err := accounts.NewProvider(config)
	require.NoError(t, err)
	l = newLab(t, provider)
	return l, mock
}

func (l *lab) grantTo(person, group string, g *misstepv1.Grant) {
	l.Helper()
	_, err := l.service.GrantAccess(l.Context(), &misstepv1.GrantAccessRequest{
		Access: &misstepv1.AccessGrant{Person: person, Group: group, Grant: g},
	})
	require.NoError(l, err)
}

func TestPeopleAndGroupsHaveGrants(t *testing.T) {
	l, mock := newPeople(t)
	l.grantTo("anna@example.org", "", grant("p", hunter))
	l.grantTo("", "qa", grant("", triager))
	l.grantTo("", "anna@example.org", grant("", admin)) // a group of that name is no person
	claims := mock.Claims("anna@example.org", l.now)
	who := func() *misstepv1.WhoAmIResponse {
		r, err := l.api.WhoAmI(l.with(mock.Sign(claims)), &misstepv1.WhoAmIRequest{})
		require.NoError(t, err)
		return r
	}
	roles := func(r *misstepv1.WhoAmIResponse) (out []string) {
		for _, g := range r.GetGrants() {
			out = append(out, access.Grant{Project: g.GetProject(), Role: g.GetRole()}.String())
		}
		return out
	}
	assert.Equal(t, "anna@example.org", who().GetName())
	assert.Equal(t, "person", who().GetKind())
	assert.Equal(t, []string{"hunter in p"}, roles(who()))
	claims["groups"] = []string{"dev", "qa"}
	assert.Equal(t, []string{"hunter in p", "triager"}, roles(who()))
	claims["groups"] = "qa"
	assert.Equal(t, []string{"hunter in p", "triager"}, roles(who()))
	claims["groups"] = []any{1, nil, map[string]any{"qa": "qa"}, "QA"}
	assert.Equal(t, []string{"hunter in p"}, roles(who()))

	_, err := l.service.RevokeAccess(t.Context(), &misstepv1.RevokeAccessRequest{
		Access: &misstepv1.AccessGrant{Person: "anna@example.org", Grant: grant("p", hunter)},
	})
	require.NoError(t, err)
	assert.Empty(t, roles(who()), "at once on this coordinator")
	_, err = l.api.ListAccess(l.with(mock.Sign(claims)), &misstepv1.ListAccessRequest{})
	require.Equal(t, codes.PermissionDenied, status.Code(err))
	assert.Contains(t, err.Error(), "granted is nothing")
}

func TestIdentityTokensThatAreNotValid(t *testing.T) {
	l, mock := newPeople(t)
	l.grantTo("anna@example.org", "", grant("", admin))
	good := mock.Sign(mock.Claims("anna@example.org", l.now))
	with := func(change func(jwt.MapClaims)) string {
		claims := mock.Claims("anna@example.org", l.now)
		change(claims)
		return mock.Sign(claims)
	}
	signed := func(method jwt.SigningMethod, key any) string {
		token := jwt.NewWithClaims(method, mock.Claims("anna@example.org", l.now))
		kid, err := mock.Keypair.KeyID()
		require.NoError(t, err)
		token.Header["kid"] = kid
		text, err := token.SignedString(key)
		require.NoError(t, err)
		return text
	}
	otherRSA, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	otherEC, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	public, err := x509.MarshalPKIXPublicKey(mock.Keypair.PublicKey)
	require.NoError(t, err)
	parts := strings.Split(good, ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	require.NoError(t, err)
	changed := base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(payload), "anna", "eve1", 1)))
	for name, test := range map[string]struct{ token, message string }{
		"of another issuer":      {with(func(c jwt.MapClaims) { c["iss"] = "https://login.example.net" }), "is not signed by " + mock.Issuer()},
		"for another client":     {with(func(c jwt.MapClaims) { c["aud"] = "other" }), "for the client " + mock.ClientID},
		"for no client":          {with(func(c jwt.MapClaims) { delete(c, "aud") }), "is not valid here"},
		"expired":                {with(func(c jwt.MapClaims) { c["exp"] = l.now.Add(-time.Second).Unix() }), "the login expired at 2026-11-26T11:59:59Z: run `misstep login`"},
		"without expiry":         {with(func(c jwt.MapClaims) { delete(c, "exp") }), "the login expired"},
		"not valid yet":          {with(func(c jwt.MapClaims) { c["nbf"] = l.now.Add(time.Hour).Unix() }), "is not valid here"},
		"signed by another key":  {signed(jwt.SigningMethodRS256, otherRSA), "is not valid here"},
		"signed by an EC key":    {signed(jwt.SigningMethodES256, otherEC), "is not valid here"},
		"alg none":               {signed(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType), "is not valid here"},
		"HMAC by the public key": {signed(jwt.SigningMethodHS256, public), "is not valid here"},
		"another's claims":       {parts[0] + "." + changed + "." + parts[2], "is not valid here"},
		"without signature":      {parts[0] + "." + parts[1] + ".", "is not valid here"},
		"two parts":              {parts[0] + "." + parts[1], "is not valid here"},
		"an access token":        {with(func(c jwt.MapClaims) { delete(c, "email"); delete(c, "email_verified") }), `has no claim "email"`},
		"unverified":             {with(func(c jwt.MapClaims) { c["email_verified"] = false }), "has not verified the email address"},
		"verified as a text":     {with(func(c jwt.MapClaims) { c["email_verified"] = "true" }), "has not verified the email address"},
		"silent on verification": {with(func(c jwt.MapClaims) { delete(c, "email_verified") }), "has not verified the email address"},
		"named like a token":     {with(func(c jwt.MapClaims) { c["email"] = "token ci" }), `"token ci" is no name of a person`},
		"named like nobody":      {with(func(c jwt.MapClaims) { c["email"] = "local" }), `"local" is no name of a person`},
		"named with a line end":  {with(func(c jwt.MapClaims) { c["email"] = "anna\n" }), "cannot be printed"},
		"named by a number":      {with(func(c jwt.MapClaims) { c["email"] = 7 }), `has no claim "email"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := l.api.ListAccess(l.with(test.token), &misstepv1.ListAccessRequest{})
			require.Equal(t, codes.Unauthenticated, status.Code(err), err)
			assert.Contains(t, status.Convert(err).Message(), test.message)
		})
	}
	_, err = l.api.ListAccess(l.with(good), &misstepv1.ListAccessRequest{})
	require.NoError(t, err)
	l.now = l.now.Add(11 * time.Minute)
	_, err = l.api.ListAccess(l.with(good), &misstepv1.ListAccessRequest{})
	require.ErrorContains(t, err, "the login expired")
}

func TestOtherClaims(t *testing.T) {
	l, mock := newPeople(t, func(c *accounts.ProviderConfig) { c.NameClaim, c.GroupsClaim = "preferred_username", "teams" })
	claims := mock.Claims("anna@example.org", l.now)
	delete(claims, "email_verified")
	claims["preferred_username"], claims["teams"], claims["groups"] = "anna", []string{"qa"}, []string{"root"}
	l.grantTo("", "qa", grant("", hunter))
	l.grantTo("", "root", grant("", admin))
	r, err := l.api.WhoAmI(l.with(mock.Sign(claims)), &misstepv1.WhoAmIRequest{})
	require.NoError(t, err)
	assert.Equal(t, "anna", r.GetName())
	require.Len(t, r.GetGrants(), 1)
	assert.Equal(t, hunter, r.GetGrants()[0].GetRole())
}

// A coordinator starts without its provider, and tokens work meanwhile.
func TestTheProviderIsAway(t *testing.T) {
	provider, err := accounts.NewProvider(accounts.ProviderConfig{Issuer: "http://127.0.0.1:1/oidc", ClientID: "misstep"})
	require.NoError(t, err)
	l := newLab(t, provider)
	_, err = l.api.WhoAmI(l.with("eyJhbGciOiJSUzI1NiJ9.e30.AAAA"), &misstepv1.WhoAmIRequest{})
	require.Equal(t, codes.Unavailable, status.Code(err))
	assert.Contains(t, err.Error(), "the OpenID provider does not answer")
	_, err = l.api.WhoAmI(l.with(l.token("ci", grant("", viewer))), &misstepv1.WhoAmIRequest{})
	require.NoError(t, err)
	login, err := l.api.GetLogin(l.with(""), &misstepv1.GetLoginRequest{})
	require.NoError(t, err)
	assert.Equal(t, "http://127.0.0.1:1/oidc", login.GetIssuer())
	assert.Equal(t, "misstep", login.GetClientId())
}

func TestIssuersThatAreRefused(t *testing.T) {
	for _, issuer := range []string{
		"", "login.example.org", "http://login.example.org", "ftp://login.example.org", "https://", "://",
	} {
		_, err := accounts.NewProvider(accounts.ProviderConfig{Issuer: issuer, ClientID: "misstep"})
		require.ErrorContains(t, err, "OpenID provider", issuer)
	}
	_, err := accounts.NewProvider(accounts.ProviderConfig{Issuer: "https://login.example.org"})
	require.ErrorContains(t, err, "the id of the client")
}

func TestGrantsThatAreRefused(t *testing.T) {
	l := newLab(t, nil)
	for message, a := range map[string]*misstepv1.AccessGrant{
		"either person or group":        {Grant: grant("", viewer)},
		"give either person or group":   {Person: "a", Group: "b", Grant: grant("", viewer)},
		`"token ci" is no name`:         {Person: "token ci", Grant: grant("", viewer)},
		`"anonymous" is no name`:        {Person: "anonymous", Grant: grant("", viewer)},
		"expected 1 to 200 bytes":       {Group: strings.Repeat("g", 201), Grant: grant("", viewer)},
		"anyone cannot be granted":      {Person: "a", Grant: grant("", misstepv1.Role_ROLE_ANYONE)},
		"unspecified cannot be granted": {Person: "a"},
		`"P" is no name of a project`:   {Person: "a", Grant: grant("P", viewer)},
		"cannot be printed":             {Group: "a\x1b[2J", Grant: grant("", viewer)},
	} {
		_, err := l.service.GrantAccess(t.Context(), &misstepv1.GrantAccessRequest{Access: a})
		require.Equal(t, codes.InvalidArgument, status.Code(err))
		require.ErrorContains(t, err, message)
		_, err = l.service.RevokeAccess(t.Context(), &misstepv1.RevokeAccessRequest{Access: a})
		require.Equal(t, codes.InvalidArgument, status.Code(err))
	}
	_, err := l.service.RevokeAccess(t.Context(), &misstepv1.RevokeAccessRequest{
		Access: &misstepv1.AccessGrant{Person: "a", Grant: grant("p", viewer)},
	})
	require.ErrorContains(t, err, "viewer in p is not granted to a")
	l.grantTo("a", "", grant("p", viewer))
	l.grantTo("a", "", grant("p", viewer))
	list, err := l.service.ListAccess(t.Context(), &misstepv1.ListAccessRequest{})
	require.NoError(t, err)
	require.Len(t, list.GetAccess(), 1)
	assert.Equal(t, "local", list.GetAccess()[0].GetGrantedBy())
	assert.Equal(t, l.now, list.GetAccess()[0].GetGranted().AsTime())
}
