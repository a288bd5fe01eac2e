package web_test

import (
	"log/slog"
	"net/http"
	"net/url"
	"testing"

	"github.com/oauth2-proxy/mockoidc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/station"
	"misstep/app/web"
	"misstep/coordinator/accounts"
	"misstep/internal/testenv/oidctest"
	misstepv1 "misstep/proto/misstep/v1"
)

// withPeople is a scene whose people log in at a provider, where anna@example.org is a viewer.
func withPeople(t *testing.T) (*scene, *oidctest.Provider) {
	t.Helper()
	mock := oidctest.Start(t)
	provider, err := accounts.NewProvider(accounts.ProviderConfig{
		Issuer: mock.Issuer(), ClientID: mock.ClientID, Scopes: []string{"openid", "email"}, // without offline_access
	})
	require.NoError(t, err)
	dir := t.TempDir()
	s := newSceneAt(t, station.Place{Dir: dir, Accounts: station.Accounts{Ask: true, Provider: provider}},
		func(o *web.Options) { o.Asks = true })
	access, stop, err := station.OpenAccess(t.Context(), dir, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer stop()
	_, err = access.GrantAccess(t.Context(), &misstepv1.GrantAccessRequest{Access: &misstepv1.AccessGrant{
		Person: "anna@example.org", Grant: &misstepv1.Grant{Role: misstepv1.Role_ROLE_VIEWER},
	}})
	require.NoError(t, err)
	return s, mock
}

// location gets an address of the site and returns where it leads.
func (s *scene) location(path string) *url.URL {
	s.t.Helper()
	a := s.get(path)
	require.Contains(s.t, []int{http.StatusSeeOther, http.StatusFound}, a.code, a.text)
	to, err := url.Parse(a.header.Get("Location"))
	require.NoError(s.t, err)
	return to
}

// consent logs somebody in at the provider and returns the address, within the site, to which it leads back.
func (s *scene) consent(mock *oidctest.Provider, at *url.URL, email string) string {
	s.t.Helper()
	mock.QueueUser(&mockoidc.MockUser{Subject: email, Email: email, EmailVerified: true})
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, at.String(), nil)
	require.NoError(s.t, err)
	answered := s.do(request)
	back, err := url.Parse(answered.header.Get("Location"))
	require.NoError(s.t, err)
	require.NotEmpty(s.t, back.Host, answered.text)
	require.Equal(s.t, s.site.URL, "http://"+back.Host)
	return back.RequestURI()
}

func TestLoginAtAProvider(t *testing.T) {
	s, mock := withPeople(t)
	b := s.browser()
	assert.Contains(t, b.get("/matrix").text, `href="/login/provider?to=%2fmatrix"`)
	at := b.location("/login/provider?to=%2fmatrix")
	assert.Equal(t, mock.Issuer(), "http://"+at.Host+"/oidc")
	assert.Equal(t, "S256", at.Query().Get("code_challenge_method"))
	back := b.consent(mock, at, "anna@example.org")

	stranger := s.browser()
	assert.Equal(t, http.StatusUnauthorized, stranger.get(back).code, "the code is worth nothing in another browser")
	assert.Equal(t, "/matrix", b.location(back).String())
	assert.Contains(t, words(b.page("/matrix"), ".who"), "anna@example.org")
	assert.Equal(t, http.StatusUnauthorized, b.get(back).code, "once")

	// Another login's answer is not taken for one's own.
	b = s.browser()
	at = b.location("/login/provider")
	q := at.Query()
	q.Set("state", "another")
	at.RawQuery = q.Encode()
	assert.Equal(t, http.StatusUnauthorized, b.get(b.consent(mock, at, "anna@example.org")).code)

	// Whoever has no role is let in and sees nothing.
	b = s.browser()
	b.location(b.consent(mock, b.location("/login/provider"), "eve@example.org"))
	assert.Equal(t, http.StatusForbidden, b.get("/findings").code)
	assert.Equal(t, http.StatusUnauthorized, s.browser().get("/login/back?error=access_denied&state=x").code)
}
