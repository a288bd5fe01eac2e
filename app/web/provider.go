package web

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/internal/private"
	misstepv1 "misstep/proto/misstep/v1"
)

const (
	// providerTimeout bounds a request to the OpenID provider, and loginTime the time that somebody has to log in there.
	providerTimeout = 10 * time.Second
	loginTime       = 10 * time.Minute
	// maxLogins bounds the logins that have begun.
	maxLogins = 1000
	// renewBefore is how long before its end an identity token is renewed.
	renewBefore = time.Minute
)

// logins are the logins at the OpenID provider that have begun, by the digest of what the browser got in a cookie: the code that
// comes back is worth nothing in another browser.
type logins struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]begun
}

// begun is a login that has begun: OpenID Connect's authorisation code flow with PKCE (RFC 7636), since misstep is a public client.
type begun struct {
	at                     time.Time
	state, nonce, verifier string
	issuer, to             string
	config                 oauth2.Config
	tokens                 *oidc.IDTokenVerifier
}

func (l *logins) begin(secret string, b begun) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[[sha256.Size]byte]begun{}
	}
	for key, one := range l.all {
		if len(l.all) >= maxLogins || b.at.Sub(one.at) > loginTime {
			delete(l.all, key)
		}
	}
	l.all[sha256.Sum256([]byte(secret))] = b
}

// take returns a login once.
func (l *logins) take(secret string, now time.Time) (begun, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := sha256.Sum256([]byte(secret))
	b, ok := l.all[key]
	delete(l.all, key)
	return b, ok && now.Sub(b.at) <= loginTime
}

// loginCookie ties a login to the browser that began it.
func (s *Site) loginCookie(secret string) *http.Cookie {
	c := s.cookie(secret)
	c.Name, c.MaxAge = s.cookieName()+"-login", int(loginTime.Seconds())
	if secret == "" {
		c.MaxAge = -1
	}
	return c
}

// goToProvider sends a browser to the OpenID provider. It is a link and no form, which the policy of the pages would keep here.
func (s *Site) goToProvider(w http.ResponseWriter, r *http.Request) {
	r = beforeLogin(r)
	to, err := s.beginLogin(w, r)
	if err != nil {
		s.showLogin(w, r, r.URL.Query().Get("to"), err)
		return
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

func (s *Site) beginLogin(w http.ResponseWriter, r *http.Request) (to string, err error) {
	if err := s.attempt(r); err != nil {
		return "", err
	}
	where, err := s.access.GetLogin(r.Context(), &misstepv1.GetLoginRequest{})
	if err != nil {
		return "", err
	}
	if where.GetIssuer() == "" {
		return "", status.Error(codes.FailedPrecondition, "the coordinator has no OpenID provider: log in with a token")
	}
	provider, err := oidc.NewProvider(withTimeout(r.Context(), where.GetIssuer()), where.GetIssuer())
	if err != nil {
		return "", status.Errorf(codes.Unavailable, "the OpenID provider %s does not answer: log in with a token, or later",
			where.GetIssuer())
	}
	endpoint := provider.Endpoint()
	if err := private.Check("the OpenID provider's page for logins", endpoint.AuthURL); err != nil {
		return "", status.Error(codes.FailedPrecondition, err.Error())
	}
	endpoint.AuthStyle = oauth2.AuthStyleInParams // a public client has no secret
	scheme := "http"
	if s.TLS {
		scheme = "https"
	}
	b := begun{
		at: s.Clock(), state: rand.Text(), nonce: rand.Text(), verifier: oauth2.GenerateVerifier(),
		issuer: where.GetIssuer(), to: inside(r.URL.Query().Get("to")),
		config: oauth2.Config{
			ClientID: where.GetClientId(), Endpoint: endpoint, Scopes: where.GetScopes(),
			RedirectURL: (&url.URL{Scheme: scheme, Host: r.Host, Path: "/login/back"}).String(),
		},
		tokens: provider.Verifier(&oidc.Config{ClientID: where.GetClientId(), Now: s.Clock}),
	}
	secret := rand.Text()
	s.logins.begin(secret, b)
	http.SetCookie(w, s.loginCookie(secret))
	return b.config.AuthCodeURL(b.state, oidc.Nonce(b.nonce), oauth2.S256ChallengeOption(b.verifier)), nil
}

// comeBack begins a session for a browser that comes back from the provider.
func (s *Site) comeBack(w http.ResponseWriter, r *http.Request) {
	r = beforeLogin(r)
	c, to, err := s.finishLogin(r)
	http.SetCookie(w, s.loginCookie(""))
	if err != nil {
		s.showLogin(w, r, to, err)
		return
	}
	http.SetCookie(w, s.cookie(s.sessions.begin(c, s.Clock())))
	http.Redirect(w, r, to, http.StatusSeeOther)
}

func (s *Site) finishLogin(r *http.Request) (c *person, to string, err error) {
	cookie, err := r.Cookie(s.cookieName() + "-login")
	if err != nil {
		return nil, "", status.Error(codes.Unauthenticated, "no login has begun in this browser: begin again")
	}
	b, ok := s.logins.take(cookie.Value, s.Clock())
	if q := r.URL.Query(); !ok || q.Get("state") != b.state {
		return nil, "", status.Error(codes.Unauthenticated, "the login took too long or was begun elsewhere: begin again")
	} else if q.Get("error") != "" {
		return nil, b.to, status.Errorf(codes.Unauthenticated, "the OpenID provider refused the login (%s)", q.Get("error"))
	}
	code := r.URL.Query().Get("code")
	token, err := b.config.Exchange(withTimeout(r.Context(), b.issuer), code, oauth2.VerifierOption(b.verifier))
	if err != nil {
		return nil, b.to, status.Error(codes.Unauthenticated, "the OpenID provider gave no identity token: begin again")
	}
	c = &person{issuer: b.issuer, config: b.config, tokens: b.tokens, clock: s.Clock}
	nonce, err := c.take(r.Context(), token)
	if err == nil && nonce != b.nonce {
		err = errors.New("the identity token is that of another login")
	}
	if err != nil {
		return nil, b.to, status.Errorf(codes.Unauthenticated, "%v: begin again", err)
	}
	return c, b.to, nil
}

// person is the login of somebody at the provider: an identity token and what renews it.
type person struct {
	issuer string
	config oauth2.Config
	tokens *oidc.IDTokenVerifier
	clock  func() time.Time

	mu      sync.Mutex
	raw     string
	until   time.Time
	refresh string
}

// take keeps what the provider answered, and returns its nonce.
func (p *person) take(ctx context.Context, token *oauth2.Token) (nonce string, err error) {
	raw, _ := token.Extra("id_token").(string)
	id, err := p.tokens.Verify(withTimeout(ctx, p.issuer), raw)
	if err != nil {
		return "", errors.New("the provider's identity token is not valid")
	}
	p.raw, p.until = raw, id.Expiry
	if token.RefreshToken != "" {
		p.refresh = token.RefreshToken
	}
	return id.Nonce, nil
}

func (p *person) bearer(ctx context.Context) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock()
	if now.Before(p.until.Add(-renewBefore)) || p.refresh == "" && now.Before(p.until) {
		return p.raw, nil
	}
	if p.refresh == "" {
		return "", fmt.Errorf("it ended at %s", p.until.UTC().Format(time.RFC3339))
	}
	token, err := p.config.TokenSource(withTimeout(ctx, p.issuer), &oauth2.Token{RefreshToken: p.refresh}).Token()
	if err != nil {
		return "", errors.New("the OpenID provider did not renew it")
	}
	_, err = p.take(ctx, token)
	return p.raw, err
}

func withTimeout(ctx context.Context, issuer string) context.Context {
	return oidc.ClientContext(ctx, private.Client(issuer, providerTimeout, nil))
}
