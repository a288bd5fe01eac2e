package objects

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"time"
)

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fault, choice := p.draw(r)
	switch fault {
	case Errors:
		if choice < 0.3 {
			p.lose(r)
		}
		refuse(w, r, refusals[int(choice*1000)%len(refusals)])
	case SlowDown:
		w.Header().Set("Retry-After", "1")
		refuse(w, r, refusal{http.StatusServiceUnavailable, "SlowDown", "Please reduce your request rate."})
	case Expired:
		refuse(w, r, refusal{http.StatusForbidden, "AccessDenied", "Request has expired"})
	case Reset:
		p.reset(w, r, choice)
	case Truncate:
		p.truncate(w, r, choice)
	case Slow:
		wait(r, time.Duration(choice*float64(p.Delay)))
		p.pass(w, r, func() { wait(r, time.Duration(choice*float64(p.Delay))) })
	default:
		p.pass(w, r, nil)
	}
}

// refusal is an answer in place of the store's.
type refusal struct {
	status        int
	code, message string // no code: the page of a load balancer
}

var refusals = []refusal{
	{http.StatusInternalServerError, "InternalError", "We encountered an internal error. Please try again."},
	{http.StatusBadGateway, "", ""},
	{http.StatusServiceUnavailable, "ServiceUnavailable", "Service is unable to handle request."},
	{http.StatusGatewayTimeout, "", ""},
	{http.StatusConflict, "ConditionalRequestConflict", "A conflicting operation occurred during the request."},
}

func refuse(w http.ResponseWriter, r *http.Request, as refusal) {
	if as.status == http.StatusConflict && r.Header.Get("If-None-Match") == "" {
		as = refusals[0]
	}
	_, _ = io.Copy(io.Discard, r.Body)
	if as.code == "" {
		http.Error(w, fmt.Sprintf("<html><h1>%d %s</h1></html>", as.status, http.StatusText(as.status)), as.status)
		return
	}
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(as.status)
	_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", as.code, as.message)
}

// lose lets the store do its work and drops its answer.
func (p *Proxy) lose(r *http.Request) {
	if response, err := p.forward(r, r.Body); err == nil {
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
}

// reset resets the connection: after a part of the request, in place of the answer, or after a part of the answer.
func (p *Proxy) reset(w http.ResponseWriter, r *http.Request, choice float64) {
	switch {
	case r.ContentLength > 0 && choice < 0.5:
		_, _ = io.CopyN(io.Discard, r.Body, r.ContentLength/2)
	case r.ContentLength > 0 || choice < 0.75: // the answer to an upload has no body within which to reset
		p.lose(r)
	default:
		p.pass(w, r, func() { abort(r) })
	}
	abort(r)
}

// abort resets the client's connection.
func abort(r *http.Request) {
	if c, ok := r.Context().Value(connection{}).(*net.TCPConn); ok {
		_ = c.SetLinger(0)
		_ = c.Close()
	}
	panic(http.ErrAbortHandler)
}

// errCut ends a body that was cut.
var errCut = errors.New("the body was cut")

// truncate passes a part of the request's or of the answer's body.
func (p *Proxy) truncate(w http.ResponseWriter, r *http.Request, choice float64) {
	if r.ContentLength > 0 {
		part := io.MultiReader(io.LimitReader(r.Body, r.ContentLength/2), failing{})
		if response, err := p.forward(r, io.NopCloser(part)); err == nil { // it answered before the end
			_ = response.Body.Close()
		}
		refuse(w, r, refusal{
			http.StatusBadRequest, "IncompleteBody", "The request body terminated unexpectedly.",
		})
		return
	}
	if choice < 0.5 || !signedURL(r) || r.Method != http.MethodGet {
		p.pass(w, r, func() { panic(http.ErrAbortHandler) })
		return
	}
	response, err := p.forward(r, r.Body)
	if err != nil {
		abort(r)
	}
	defer response.Body.Close()
	half := max(0, response.ContentLength/2)
	copyHeader(w, response)
	w.Header().Set("Content-Length", strconv.FormatInt(half, 10))
	w.WriteHeader(response.StatusCode)
	_, _ = io.CopyN(w, response.Body, half)
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errCut }

// pass forwards a request; middle, unless nil, is called after half of the answer's body.
func (p *Proxy) pass(w http.ResponseWriter, r *http.Request, middle func()) {
	response, err := p.forward(r, r.Body)
	if err != nil {
		abort(r) // as if the proxy were not there: the store is
	}
	defer response.Body.Close()
	copyHeader(w, response)
	w.WriteHeader(response.StatusCode)
	if middle != nil {
		if response.ContentLength > 0 && r.Method != http.MethodHead {
			_, err = io.CopyN(w, response.Body, response.ContentLength/2)
		}
		_ = http.NewResponseController(w).Flush()
		middle()
	}
	if err == nil {
		_, err = io.Copy(w, response.Body)
	}
	if err != nil {
		abort(r)
	}
}

func copyHeader(w http.ResponseWriter, from *http.Response) {
	maps.Copy(w.Header(), from.Header)
}

// wait waits, unless the client goes.
func wait(r *http.Request, d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.Context().Done():
	}
}
