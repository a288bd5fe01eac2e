// Package private makes HTTP requests to an OpenID provider, whose answers decide who somebody is: only where nobody can read or
// change them on their way, and with answers of bounded length.
package private

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// MaxAnswer bounds an answer in bytes, once it is unpacked. Providers publish a few KiB.
const MaxAnswer = 1 << 20

// maxRedirects bounds how often a request is sent elsewhere.
const maxRedirects = 5

// ErrTooLong means that an answer has more than MaxAnswer bytes.
var ErrTooLong = errors.New("the answer has more than 1 MiB")

// Check returns an error unless nobody can read what is sent to a URL on its way. what names the URL.
func Check(what, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if !isPrivate(u) {
		return fmt.Errorf("%s %q: expected https://, or http:// on this host, as credentials are sent there", what, address)
	}
	return nil
}

func isPrivate(u *url.URL) bool {
	return u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && IsLoopback(u.Hostname()))
}

// IsLoopback reports whether a host, a name or an address, is this one by itself.
func IsLoopback(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }

// Client returns a client for an issuer. Whatever a provider names, its keys and where it redirects to included, is reached by
// https://, or by http:// on this host where the issuer is so, too. A nil transport is that of net/http.
func Client(issuer string, timeout time.Duration, transport http.RoundTripper) *http.Client {
	if transport == nil {
		transport = http.DefaultTransport
	}
	u, err := url.Parse(issuer)
	return &http.Client{
		Timeout: timeout, Transport: &guard{next: transport, plain: err == nil && u.Scheme == "http"},
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("stopped after %d redirects", maxRedirects)
			}
			return nil
		},
	}
}

// guard refuses requests, redirected ones included, that others could read.
type guard struct {
	next  http.RoundTripper
	plain bool // http:// on this host is allowed
}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if !isPrivate(r.URL) || r.URL.Scheme == "http" && !g.plain {
		return nil, fmt.Errorf("expected https:// as for the provider itself, not %s://%s", r.URL.Scheme, r.URL.Host)
	}
	response, err := g.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Body = &bounded{ReadCloser: response.Body, left: MaxAnswer}
	return response, nil
}

// bounded fails after so many bytes.
type bounded struct {
	io.ReadCloser
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)])
	if n > b.left {
		return b.left, ErrTooLong
	}
	b.left -= n
	return n, err
}
