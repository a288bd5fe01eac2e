// Package objects forwards requests to an S3-compatible object store and spoils some of them, as an overloaded store, a load
// balancer in front of it, or the network between does.
package objects

import (
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// Fault is what is done to a request.
type Fault string

// Faults. Which half of a request is hit, and when, is drawn.
const (
	// Errors answers 500 to 504, or 409 to a conditional write, in place of the store or after the store has done its work.
	Errors Fault = "errors"
	// SlowDown answers 503 SlowDown with Retry-After, as S3 does above its request rate.
	SlowDown Fault = "SlowDown"
	// Reset resets the connection within the request's body, within the answer's body, or in place of the answer.
	Reset Fault = "connection reset"
	// Truncate ends the answer's body early, or passes a part of the request's body on to the store. To a signed URL it also
	// answers with fewer bytes than the object has and says nothing of that.
	Truncate Fault = "truncated body"
	// Slow makes the request, and the second half of the answer's body, wait.
	Slow Fault = "slow"
	// Expired answers a signed URL as if the signature had expired; other requests pass.
	Expired Fault = "signature expired"
)

// All faults.
var All = []Fault{Errors, SlowDown, Reset, Truncate, Slow, Expired}

// Proxy forwards to one object store. Safe for concurrent use. Requests must be signed for its own address, which it passes on in
// the header Host.
type Proxy struct {
	// Delay bounds the waits of Slow.
	Delay time.Duration

	server    *http.Server
	address   string
	transport *http.Transport
	ending    sync.WaitGroup

	mu       sync.Mutex
	upstream string
	fault    Fault // "" while there is none
	share    float64
	random   *rand.Rand
	hits     map[Fault]int
}

// Listen starts a proxy on a free port of the loopback interface, in front of the store at the URL endpoint. The seed draws. The
// caller closes it.
func Listen(endpoint string, seed uint64) (*Proxy, error) {
	p := &Proxy{
		Delay: time.Second, random: rand.New(rand.NewPCG(seed, 2)), hits: map[Fault]int{},
		transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16},
	}
	if err := p.Upstream(endpoint); err != nil {
		return nil, err
	}
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for requests to %s: %w", endpoint, err)
	}
	p.address = listener.Addr().String()
	p.server = &http.Server{
		Handler: p, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connection{}, c) },
	}
	p.ending.Go(func() { _ = p.server.Serve(listener) })
	return p, nil
}

// connection is the key of a request's connection.
type connection struct{}

// Endpoint is the proxy's URL.
func (p *Proxy) Endpoint() string { return "http://" + p.address }

// Upstream changes the store, for one that was started again at another address.
func (p *Proxy) Upstream(endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" || u.Host == "" {
		return fmt.Errorf("object store %q: expected http://HOST:PORT", endpoint)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.upstream = u.Host
	return nil
}

// Fail does a fault to a share of the requests, from 0 to 1, until Heal or another Fail.
func (p *Proxy) Fail(fault Fault, share float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.share = fault, share
}

// Heal ends Fail.
func (p *Proxy) Heal() { p.Fail("", 0) }

// Hits counts the requests that each fault has hit.
func (p *Proxy) Hits() map[Fault]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.hits)
}

// Close ends all connections and returns when no request is under way.
func (p *Proxy) Close() error {
	err := p.server.Close()
	p.ending.Wait()
	p.transport.CloseIdleConnections()
	return err
}

// draw decides what happens to a request; choice in [0, 1) selects among the ways of a fault.
func (p *Proxy) draw(r *http.Request) (fault Fault, choice float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fault == "" || p.random.Float64() >= p.share || p.fault == Expired && !signedURL(r) {
		return "", 0
	}
	p.hits[p.fault]++
	return p.fault, p.random.Float64()
}

func signedURL(r *http.Request) bool { return r.URL.Query().Has("X-Amz-Signature") }

// forward makes the request at the store; body replaces its own.
func (p *Proxy) forward(r *http.Request, body io.ReadCloser) (*http.Response, error) {
	p.mu.Lock()
	upstream := p.upstream
	p.mu.Unlock()
	out := r.Clone(r.Context()) // with its Host, which is signed
	out.URL.Scheme, out.URL.Host, out.RequestURI, out.Body = "http", upstream, "", body
	out.Header.Del("Connection")
	return p.transport.RoundTrip(out)
}
