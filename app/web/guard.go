package web

import (
	"net"
	"net/http"
	"net/netip"
)

// policy allows a page what this package serves and nothing else: no script, style or handler in the page itself, no other host, no
// frame around it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guard sets the headers that keep browsers from doing more than a page is for, and refuses requests that another site's page made.
func (s *Site) guard(next http.Handler) http.Handler {
	crossOrigin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		if s.TLS {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		// Where nobody is asked who calls, a page of another site must not get in by a name of its own that leads to this host
		// (DNS rebinding): only names of this host will do.
		if !s.Asks && !isLocal(r.Host) {
			http.Error(w, "this site is served to this host only: open it as http://127.0.0.1:PORT/ or http://localhost:PORT/",
				http.StatusMisdirectedRequest)
			return
		}
		crossOrigin.Handler(next).ServeHTTP(w, r)
	})
}

// isLocal reports whether the Host of a request is a name of this host that no other one can have.
func isLocal(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	ip, err := netip.ParseAddr(name)
	return name == "localhost" || err == nil && ip.IsLoopback()
}
