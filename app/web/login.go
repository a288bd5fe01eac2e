package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"misstep/coordinator/access"
	misstepv1 "misstep/proto/misstep/v1"
)

// Logins that may come from one address, see access.Place.
const (
	loginsPerSecond = 1
	maxLoginsAtOnce = 30
)

// loginPage is what the page to log in shows.
type loginPage struct {
	// To is the page to which the login leads.
	To string
	// Issuer of the OpenID provider; empty without one.
	Issuer string
	// Message says what went wrong.
	Message string
}

// askToLogIn shows the page to log in in place of another one.
func (s *Site) askToLogIn(w http.ResponseWriter, r *http.Request, why error) {
	if visitOf(r.Context()).format != "html" || r.Method != http.MethodGet {
		s.fail(w, r, why)
		return
	}
	s.showLogin(w, r, r.URL.RequestURI(), why)
}

func (s *Site) showLogin(w http.ResponseWriter, r *http.Request, to string, why error) {
	p := loginPage{To: inside(to)}
	if why != nil {
		p.Message = status.Convert(why).Message()
	}
	if where, err := s.access.GetLogin(r.Context(), &misstepv1.GetLoginRequest{}); err == nil {
		p.Issuer = where.GetIssuer()
	}
	page := &page{template: "login", title: "Log in", data: p}
	code := http.StatusUnauthorized
	if wait := access.RetryIn(why); wait > 0 {
		code = http.StatusTooManyRequests
		retryAfter(w, wait)
	}
	if err := s.write(w, r, code, page); err != nil {
		s.fail(w, r, err)
	}
}

// inside returns an address of this site, whatever somebody wrote into a link to the login.
func inside(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") ||
		strings.Contains(u.Path, `\`) || strings.HasPrefix(u.Path, "/log") {
		return "/"
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).String()
}

// logIn begins a session with a token, if the coordinator takes it. The request comes before there is a session, so what keeps
// other sites from sending it is guard.
func (s *Site) logIn(w http.ResponseWriter, r *http.Request) {
	r = beforeLogin(r)
	given := strings.TrimSpace(r.PostFormValue("token"))
	err := status.Error(codes.Unauthenticated, "give a token: `misstep token create` makes one")
	if given != "" {
		err = s.attempt(r)
	}
	if given != "" && err == nil {
		ctx := metadata.AppendToOutgoingContext(r.Context(), "authorization", "Bearer "+given)
		_, err = s.access.WhoAmI(ctx, &misstepv1.WhoAmIRequest{})
	}
	if err != nil {
		s.showLogin(w, r, r.PostFormValue("to"), err)
		return
	}
	http.SetCookie(w, s.cookie(s.sessions.begin(token(given), s.Clock())))
	http.Redirect(w, r, inside(r.PostFormValue("to")), http.StatusSeeOther)
}

// attempt counts a login; an error if too many come from the visitor's address: each costs the coordinator a look into its store,
// and a session or a question to the provider.
func (s *Site) attempt(r *http.Request) error {
	now := s.Clock()
	place := access.Place(r.RemoteAddr)
	turn := s.attempts.Of(place, now, loginsPerSecond, maxLoginsAtOnce).ReserveN(now, 1)
	wait := turn.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	turn.CancelAt(now)
	return access.ComeBack(wait, "too many logins came from %s: come back in %v", place, wait.Round(time.Millisecond))
}

// beforeLogin returns a request of a visitor whom nobody knows yet.
func beforeLogin(r *http.Request) *http.Request {
	ctx := access.ForVisitor(r.Context(), r.RemoteAddr)
	return r.WithContext(context.WithValue(ctx, visitKey{}, &visit{format: "html", caller: &access.Caller{}}))
}

// logOut ends the session of a browser.
func (s *Site) logOut(w http.ResponseWriter, r *http.Request) {
	if !genuine(r) {
		s.fail(w, r, errForeignForm)
		return
	}
	if cookie, err := r.Cookie(s.cookieName()); err == nil {
		s.sessions.end(cookie.Value)
	}
	http.SetCookie(w, s.cookie(""))
	w.Header().Set("Clear-Site-Data", `"cache"`)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

var errForeignForm = status.Error(codes.PermissionDenied,
	"this form is of an older session or of another site: open the page again")
