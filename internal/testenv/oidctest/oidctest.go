// Package oidctest runs an OpenID provider for tests: mockoidc, and what it lacks of the device flow.
//
// mockoidc has neither a device authorization endpoint (RFC 8628) nor public clients. This package adds the endpoint, with a page
// that Approve and Deny take the place of, and gives the mock the client's secret that a public client does not send. Discovery,
// keys, identity tokens, their signatures and refreshing are the mock's. Refresh tokens are not replaced by new ones, and there is
// no revocation endpoint.
package oidctest

import (
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/oauth2-proxy/mockoidc"
	"github.com/stretchr/testify/require"
)

// Provider is a running provider. The test ends it.
type Provider struct {
	*mockoidc.MockOIDC

	t      testing.TB
	device *httptest.Server

	mu sync.Mutex // the mock is not made for several calls at a time
	// logins under way by device code; guarded by mu.
	logins map[string]*login
	// user codes of the logins, in the order in which they began.
	began chan string
}

type login struct {
	userCode, scope string
	user            *mockoidc.MockUser // nil until it is approved
	denied          bool
	polls           int
}

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

// Start starts a provider that only this host reaches.
func Start(t testing.TB) *Provider { return start(t, "127.0.0.1", nil) }

// StartAt starts a provider on an address of this host, with TLS.
func StartAt(t testing.TB, host string, certificate tls.Certificate) *Provider {
	return start(t, host, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
}

func start(t testing.TB, host string, secure *tls.Config) *Provider {
	m, err := mockoidc.NewServer(nil)
	require.NoError(t, err)
	p := &Provider{MockOIDC: m, t: t, logins: map[string]*login{}, began: make(chan string, 100)}
	listen := func() net.Listener {
		l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		require.NoError(t, err)
		if secure != nil {
			l = tls.NewListener(l, secure)
		}
		return l
	}
	p.device = &httptest.Server{Listener: listen(), Config: &http.Server{
		Handler: http.HandlerFunc(p.authorizeDevice), ReadHeaderTimeout: time.Minute,
	}}
	p.device.Start()
	if secure != nil {
		p.device.URL = "https://" + p.device.Listener.Addr().String()
	}
	t.Cleanup(p.device.Close)
	m.Keypair, err = mockoidc.RandomKeypair(2048)
	require.NoError(t, err)
	require.NoError(t, m.AddMiddleware(p.extend))
	require.NoError(t, m.Start(listen(), secure))
	t.Cleanup(func() { require.NoError(t, m.Shutdown()) })
	return p
}

// extend stands before each endpoint of the mock.
func (p *Provider) extend(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch r.URL.Path {
		case mockoidc.DiscoveryEndpoint:
			p.discovery(w, r, next)
			return
		case mockoidc.TokenEndpoint:
			if !p.prepareToken(w, r) {
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

func (p *Provider) discovery(w http.ResponseWriter, r *http.Request, next http.Handler) {
	answer := httptest.NewRecorder()
	next.ServeHTTP(answer, r)
	var document map[string]any
	if err := json.Unmarshal(answer.Body.Bytes(), &document); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	document["device_authorization_endpoint"] = p.device.URL
	reply(w, http.StatusOK, document)
}

// authorizeDevice is the device authorization endpoint.
func (p *Provider) authorizeDevice(w http.ResponseWriter, r *http.Request) {
	if r.PostFormValue("client_id") != p.ClientID {
		reply(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	code, userCode := rand.Text(), rand.Text()[:8]
	p.logins[code] = &login{userCode: userCode, scope: r.PostFormValue("scope")}
	p.began <- userCode
	reply(w, http.StatusOK, map[string]any{
		"device_code": code, "user_code": userCode, "verification_uri": p.device.URL + "/device", "expires_in": 300, "interval": 1,
	})
}

// prepareToken makes the request of a public client one that the mock knows: a device code becomes a code of its own. It answers
// itself and returns false while the person has not decided.
func (p *Provider) prepareToken(w http.ResponseWriter, r *http.Request) bool {
	if err := r.ParseForm(); err != nil {
		reply(w, http.StatusBadRequest, map[string]any{"error": "invalid_request"})
		return false
	}
	form := r.Form
	if id, _, ok := r.BasicAuth(); ok { // oauth2 tries this first
		form.Set("client_id", id)
	}
	if form.Get("client_secret") == "" {
		form.Set("client_secret", p.ClientSecret)
	}
	if form.Get("grant_type") == deviceGrant {
		l := p.logins[form.Get("device_code")]
		failure := ""
		switch {
		case l == nil:
			failure = "expired_token"
		case l.denied:
			failure = "access_denied"
		case l.user == nil:
			l.polls++
			failure = "authorization_pending"
		}
		if failure != "" {
			reply(w, http.StatusBadRequest, map[string]any{"error": failure})
			return false
		}
		session, err := p.SessionStore.NewSession(l.scope, "", l.user, "", "")
		if err != nil {
			reply(w, http.StatusInternalServerError, map[string]any{"error": err.Error()})
			return false
		}
		delete(p.logins, form.Get("device_code"))
		form.Set("grant_type", "authorization_code")
		form.Set("code", session.SessionID)
	}
	r.Form, r.PostForm = form, url.Values{}
	return true
}

func reply(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

// Began waits for the next login and returns its user code.
func (p *Provider) Began() string {
	p.t.Helper()
	select {
	case code := <-p.began:
		return code
	case <-time.After(20 * time.Second):
		p.t.Fatal("nobody logs in")
		return ""
	}
}

// Approve is a person who enters a user code at the provider; Deny is one who refuses.
func (p *Provider) Approve(userCode string, user *mockoidc.MockUser) {
	p.decide(userCode, func(l *login) { l.user = user })
}

// ApproveAll approves each login that begins, until the test ends.
func (p *Provider) ApproveAll(user *mockoidc.MockUser) {
	go func() {
		for {
			select {
			case code := <-p.began:
				p.Approve(code, user)
			case <-p.t.Context().Done():
				return
			}
		}
	}()
}

// Deny refuses a login.
func (p *Provider) Deny(userCode string) { p.decide(userCode, func(l *login) { l.denied = true }) }

func (p *Provider) decide(userCode string, how func(*login)) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.logins {
		if l.userCode == userCode {
			how(l)
			return
		}
	}
	p.t.Fatalf("no login has the code %s", userCode)
}

// Forget ends all sessions, so that no refresh token is valid any more.
func (p *Provider) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.SessionStore.Store)
}

// Claims are those of a valid identity token of a person at a time.
func (p *Provider) Claims(email string, now time.Time) jwt.MapClaims {
	return jwt.MapClaims{
		"iss": p.Issuer(), "aud": p.ClientID, "sub": "1", "email": email, "email_verified": true,
		"iat": now.Unix(), "exp": now.Add(10 * time.Minute).Unix(),
	}
}

// Sign signs claims with the provider's key.
func (p *Provider) Sign(claims jwt.MapClaims) string {
	p.t.Helper()
	token, err := p.Keypair.SignJWT(claims)
	require.NoError(p.t, err)
	return token
}
