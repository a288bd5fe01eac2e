package web_test

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"misstep/app/pki"
	"misstep/app/station"
	"misstep/app/transport"
	"misstep/app/web"
	"misstep/coordinator"
	"misstep/coordinator/access"
	"misstep/internal/testenv/browser"
	misstepv1 "misstep/proto/misstep/v1"
)

// material is an authority's certificates, and one of a coordinator.
func material(t *testing.T) (*transport.Source, *x509.CertPool, *tls.Certificate) {
	t.Helper()
	dir := t.TempDir()
	authority, err := pki.Init(t.Context(), dir, "test", 1000*time.Hour, time.Now)
	require.NoError(t, err)
	own, err := authority.Issue(t.Context(), pki.Request{
		Kind: pki.Coordinator, Names: []string{"127.0.0.1"}, Lifetime: time.Hour, Out: t.TempDir(),
	})
	require.NoError(t, err)
	ca := filepath.Join(own.Dir, pki.CAFile)
	source, err := transport.Open(transport.Files{
		CA: ca, Certificate: filepath.Join(own.Dir, pki.CertificateFile), Key: filepath.Join(own.Dir, pki.KeyFile),
	}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	text, err := os.ReadFile(ca)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(text))
	presented, err := source.ForBrowsers().GetCertificate(nil)
	require.NoError(t, err)
	return source, pool, presented
}

// byTLS serves a scene's pages again, over TLS.
func (s *scene) byTLS(source *transport.Source, pool *x509.CertPool, asks bool) *scene {
	s.t.Helper()
	site := web.New(web.Options{Conn: s.st.Conn, Blobs: s.st.Blobs, Place: "--dir hunt-sim", Asks: asks, TLS: true})
	at, stop, err := site.Start("127.0.0.1:0", source.ForBrowsers())
	require.NoError(s.t, err)
	s.t.Cleanup(stop)
	require.True(s.t, strings.HasPrefix(at, "https://"))
	one := *s.browser()
	one.site = &httptest.Server{URL: strings.TrimSuffix(at, "/")}
	one.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	return &one
}

// Pages for other machines need TLS, and so their coordinator has it, too: its own connection to the server is no exception to who
// may do what.
func TestPagesOfACoordinatorWithTLS(t *testing.T) {
	source, pool, _ := material(t)
	t.Run("nobody is asked", func(t *testing.T) {
		s := newSceneAt(t, station.Place{Dir: t.TempDir(), Options: source.ServerOptions(coordinator.Ping)})
		s.run(2, usual()...)
		b := s.byTLS(source, pool, false)
		require.Equal(t, http.StatusOK, b.get("/findings").code)
	})
	t.Run("by a token", func(t *testing.T) {
		dir := t.TempDir()
		s := newSceneAt(t, station.Place{
			Dir: dir, Accounts: station.Accounts{Ask: true}, Options: source.ServerOptions(coordinator.Ping),
		})
		b := s.byTLS(source, pool, true)
		require.Equal(t, http.StatusUnauthorized, b.get("/findings").code)
		refused := b.post("/login", url.Values{"token": {"misstep_nothing"}})
		require.Equal(t, http.StatusUnauthorized, refused.code)
		require.NotContains(t, refused.text, "preface")
		in := b.post("/login", url.Values{"token": {tokensIn(t, dir)(misstepv1.Role_ROLE_VIEWER, "")}, "to": {"/findings"}})
		require.Equal(t, http.StatusSeeOther, in.code, in.text)
		require.Contains(t, in.header.Get("Set-Cookie"), "Secure")
		require.Equal(t, http.StatusOK, b.get("/findings").code)
	})
	t.Run("runners by certificates only", func(t *testing.T) {
		ids, err := transport.ParseRunnerIDs([]string{transport.OwnIDs})
		require.NoError(t, err)
		s := newSceneAt(t, station.Place{
			Dir: t.TempDir(), Options: source.ServerOptions(coordinator.Ping),
			Access: access.Options{Authenticators: []access.Authenticator{source.Authenticator(ids)}},
		})
		b := s.byTLS(source, pool, true)
		require.Equal(t, http.StatusUnauthorized, b.get("/findings").code, "a connection inside the process is nobody's")
		_, err = s.st.ListFindings(t.Context(), &misstepv1.ListFindingsRequest{})
		require.ErrorContains(t, err, "asks who calls")
	})
	t.Run("behind a proxy that ends TLS", func(t *testing.T) {
		dir := t.TempDir()
		s := newSceneAt(t, station.Place{
			Dir: dir, Accounts: station.Accounts{Ask: true}, Options: source.ServerOptions(coordinator.Ping),
		}, func(o *web.Options) { o.Asks = true })
		proxy := s.behindProxy()
		b := s.browser()
		b.site = &httptest.Server{URL: proxy.URL}
		b.client.Transport = proxy.Client().Transport
		in := b.post("/login", url.Values{"token": {tokensIn(t, dir)(misstepv1.Role_ROLE_VIEWER, "")}, "to": {"/findings"}})
		require.Equal(t, http.StatusSeeOther, in.code, in.text)
		require.Equal(t, "/findings", in.header.Get("Location"))
		require.Equal(t, http.StatusOK, b.get("/findings").code)
	})
}

// behindProxy serves a scene's pages by a proxy that ends TLS, with a certificate of its own if it is given none.
func (s *scene) behindProxy(certificates ...tls.Certificate) *httptest.Server {
	s.t.Helper()
	inner, err := url.Parse(s.site.URL)
	require.NoError(s.t, err)
	proxy := httptest.NewUnstartedServer(&httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(inner)
			r.Out.Host = r.In.Host
		},
	})
	proxy.TLS, proxy.EnableHTTP2 = &tls.Config{Certificates: certificates, MinVersion: tls.VersionTLS12}, true
	proxy.StartTLS()
	s.t.Cleanup(proxy.Close)
	return proxy
}

// What a Chromium makes of the same pages: it keeps the session's cookie, sends the forms, and follows the events over HTTP/2.
func TestPagesOverTLSInABrowser(t *testing.T) {
	source, pool, presented := material(t)
	b := browser.Start(t, presented.Leaf)
	ids, err := transport.ParseRunnerIDs([]string{transport.OwnIDs})
	require.NoError(t, err)
	secure := source.ServerOptions(coordinator.Ping)
	asking := station.Accounts{Ask: true}
	for _, c := range []struct {
		name  string
		place station.Place
		proxy bool
	}{
		{"nobody is asked", station.Place{Options: secure}, false},
		{"by a token", station.Place{Options: secure, Accounts: asking}, false},
		{"by a token, runners by certificates", station.Place{
			Options: secure, Accounts: asking, Access: access.Options{Authenticators: []access.Authenticator{source.Authenticator(ids)}},
		}, false},
		{"behind a proxy that ends TLS, nobody is asked", station.Place{Options: secure}, true},
		{"behind a proxy that ends TLS, by a token", station.Place{Options: secure, Accounts: asking}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.place.Dir = t.TempDir()
			s := newSceneAt(t, c.place, func(o *web.Options) { o.Asks = c.place.Accounts.Ask })
			var seen *scene
			if c.proxy {
				seen = s.in(t)
				seen.site = s.behindProxy(*presented)
			} else {
				seen = s.byTLS(source, pool, c.place.Accounts.Ask)
			}
			tab := openTab(t, b, seen)
			if c.place.Accounts.Ask {
				logInAndOut(t, tab, tokensIn(t, c.place.Dir))
				return
			}
			require.Equal(t, http.StatusOK, tab.Visit("/findings"))
			require.True(t, browser.Eval[bool](tab, "window.isSecureContext"))
			followChanges(t, seen, tab, openTab(t, b, seen))
		})
	}
}
