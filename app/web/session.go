package web

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const (
	// idle is how long a session lasts that is not used, and longest how long one lasts at most.
	idle    = 12 * time.Hour
	longest = 7 * 24 * time.Hour
	// maxSessions bounds the sessions; the one that was used longest ago ends for a new one.
	maxSessions = 10_000
)

// session is a browser that somebody logged in with. It has a credential of the coordinator's, which never leaves this process:
// the browser holds a random name of the session only.
type session struct {
	credential credential
	// csrf is in each form of the session's pages: other sites do not know it.
	csrf        string
	begun, used time.Time
}

// credential gives what is shown to the coordinator.
type credential interface {
	// bearer returns the token, renewed if it has to be.
	bearer(ctx context.Context) (string, error)
}

// token is a credential that the coordinator made, see misstep token.
type token string

func (t token) bearer(context.Context) (string, error) { return string(t), nil }

// sessions are kept in memory: a coordinator that starts anew asks people to log in again.
type sessions struct {
	mu sync.Mutex
	// by the digest of its name
	all map[[sha256.Size]byte]*session
}

// begin makes a session and returns the name for its cookie.
func (s *sessions) begin(c credential, now time.Time) (name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[[sha256.Size]byte]*session{}
	}
	for len(s.all) >= maxSessions {
		var oldest [sha256.Size]byte
		for key, one := range s.all {
			if first := s.all[oldest]; first == nil || one.used.Before(first.used) {
				oldest = key
			}
		}
		delete(s.all, oldest)
	}
	name = rand.Text() + rand.Text()
	s.all[sha256.Sum256([]byte(name))] = &session{credential: c, csrf: rand.Text(), begun: now, used: now}
	return name
}

// find returns the session with a name; nil if there is none or it has ended.
func (s *sessions) find(name string, now time.Time) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sha256.Sum256([]byte(name))
	one := s.all[key]
	if one == nil {
		return nil
	}
	if now.Sub(one.used) > idle || now.Sub(one.begun) > longest {
		delete(s.all, key)
		return nil
	}
	one.used = now
	return one
}

func (s *sessions) end(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, sha256.Sum256([]byte(name)))
}

// cookieName is one that browsers accept from this very host and by TLS only, where there is TLS.
func (s *Site) cookieName() string {
	if s.TLS {
		return "__Host-misstep"
	}
	return "misstep"
}

// cookie of a session; without a name it removes the one that is there.
func (s *Site) cookie(name string) *http.Cookie {
	c := &http.Cookie{
		Name: s.cookieName(), Value: name, Path: "/", HttpOnly: true, Secure: s.TLS, SameSite: http.SameSiteLaxMode,
		MaxAge: int(longest.Seconds()),
	}
	if name == "" {
		c.MaxAge = -1
	}
	return c
}

// identify returns a context of calls with the credential of whoever makes a request, and the token of its forms. A script shows
// its token in the header Authorization, as to the coordinator itself.
func (s *Site) identify(r *http.Request) (ctx context.Context, csrf string, err error) {
	ctx = r.Context()
	switch {
	case !s.Asks && s.Writable:
		return ctx, s.csrf, nil
	case !s.Asks:
		return ctx, "", nil
	}
	if header := r.Header.Get("Authorization"); header != "" {
		return metadata.AppendToOutgoingContext(ctx, "authorization", header), "", nil
	}
	cookie, err := r.Cookie(s.cookieName())
	if err != nil {
		return ctx, "", status.Error(codes.Unauthenticated, "log in to see this page")
	}
	one := s.sessions.find(cookie.Value, s.Clock())
	if one == nil {
		return ctx, "", status.Error(codes.Unauthenticated, "the session has ended: log in again")
	}
	bearer, err := one.credential.bearer(ctx)
	if err != nil {
		s.sessions.end(cookie.Value)
		return ctx, "", status.Errorf(codes.Unauthenticated, "the login cannot be renewed: log in again (%v)", err)
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+bearer), one.csrf, nil
}

// genuine reports whether a form came from a page of this site.
func genuine(r *http.Request) bool {
	want := visitOf(r.Context()).csrf
	return want != "" && subtle.ConstantTimeCompare([]byte(r.PostFormValue("csrf")), []byte(want)) == 1
}
