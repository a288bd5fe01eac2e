// Package direct reads and writes blobs in an object store by requests that somebody else has signed.
//
// What fails for a while is tried again, with a new signature each time. A download that breaks off continues where it was; a blob
// becomes visible in the object store whole or not at all.
package direct

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"misstep/corpus"
	"misstep/internal/shorten"
)

// Sign returns a request that is valid now. It is called for each attempt.
type Sign func(ctx context.Context) (corpus.SignedRequest, error)

// Client makes the requests. The zero value is ready for use.
type Client struct {
	// HTTP makes the requests; nil is a client of this package's own.
	HTTP *http.Client
	// Backoff between attempts; nil begins with half a second and doubles it up to 15 s.
	Backoff func() backoff.BackOff
	// Tries is the number of attempts in a row that bring nothing; 0 is 8.
	Tries uint
	// Stall is the time in which at least some bytes must pass; 0 is one minute.
	Stall time.Duration
}

// connections to one object store that are kept for the next request.
const connections = 16

var shared = &http.Client{CheckRedirect: stay, Transport: func() http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	t.MaxIdleConnsPerHost = connections
	t.DisableCompression = true // blobs are stored as they are
	return t
}()}

// stay follows no redirect. A signature is for one host, so nothing good is elsewhere; and an object store must not send a runner,
// with the headers and the bytes that it was given, to the services of the runner's own network.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func (c *Client) http() *http.Client {
	if c.HTTP == nil {
		return shared
	}
	return c.HTTP
}

func (c *Client) tries() uint {
	if c.Tries == 0 {
		return 8
	}
	return c.Tries
}

func (c *Client) stall() time.Duration {
	if c.Stall == 0 {
		return time.Minute
	}
	return c.Stall
}

func (c *Client) backoff() backoff.BackOff {
	if c.Backoff != nil {
		return c.Backoff()
	}
	b := backoff.NewExponentialBackOff()
	b.MaxInterval = 15 * time.Second
	b.Multiplier = 2
	return b
}

// retry makes attempts until one succeeds, fails for good, or the tries are used up; then the error wraps corpus.ErrUnavailable.
func retry[T any](ctx context.Context, c *Client, attempt func() (T, error)) (T, error) {
	forGood := false
	value, err := backoff.Retry(ctx, func() (T, error) {
		value, err := attempt()
		_, forGood = errors.AsType[*backoff.PermanentError](err)
		return value, err
	}, backoff.WithBackOff(c.backoff()), backoff.WithMaxTries(c.tries()), backoff.WithMaxElapsedTime(0))
	if err != nil && !forGood && ctx.Err() == nil && !errors.Is(err, corpus.ErrNotFound) {
		err = fmt.Errorf("%w: %w", corpus.ErrUnavailable, err)
	}
	return value, err
}

// refusal is an answer of the object store other than success. Its text has no part of the URL, which is a secret.
type refusal struct {
	host, status string
	code, text   string
	// after is the wait that the object store asks for; 0 is none.
	after time.Duration
}

// maxText bounds what is repeated of an object store's answer, in bytes.
const maxText = 300

// maxAfter bounds the wait that an object store may ask for, in seconds.
const maxAfter = 30

// Unwrap returns the error by which backoff.Retry waits as long as the object store asks for.
func (r *refusal) Unwrap() error {
	if r.after == 0 {
		return nil
	}
	return &backoff.RetryAfterError{Duration: r.after}
}

func (r *refusal) Error() string {
	text := fmt.Sprintf("object store %s answers %s", r.host, r.status)
	if r.code != "" {
		text += ": " + r.code + ": " + r.text
	}
	return text
}

// refused reads an answer that is not success; it is permanent unless another attempt, newly signed, may succeed.
func refused(response *http.Response) error {
	r := &refusal{host: response.Request.URL.Host, status: response.Status}
	var body struct {
		Code    string
		Message string
	}
	if xml.NewDecoder(io.LimitReader(response.Body, 64<<10)).Decode(&body) == nil {
		r.code, r.text = shorten.To(body.Code, maxText), shorten.To(body.Message, maxText)
	}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
		r.after = time.Duration(min(seconds, maxAfter)) * time.Second
	}
	switch s := response.StatusCode; {
	case s == http.StatusNotFound:
		return fmt.Errorf("%w: %w", r, corpus.ErrNotFound) // who signs the next one knows whether it is there
	case s == http.StatusForbidden && strings.Contains(strings.ToLower(r.text), "expired"):
		return r // the next one is signed anew
	case s == http.StatusConflict, s == http.StatusRequestTimeout, s == http.StatusTooManyRequests, s >= 500:
		return r
	case r.code == "RequestTimeout", r.code == "SlowDown", r.code == "IncompleteBody": // some servers answer 400
		return r
	default:
		return backoff.Permanent(r)
	}
}

// secretless removes the URL from an error of net/http.
func secretless(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		host := ""
		if parsed, parseErr := url.Parse(u.URL); parseErr == nil {
			host = parsed.Host
		}
		return fmt.Errorf("object store %s: %w", host, u.Err)
	}
	return err
}

// watchdog ends a context when nothing has moved for a while.
type watchdog struct {
	timer *time.Timer
	stall time.Duration
}

func (c *Client) watch(parent context.Context) (context.Context, *watchdog, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	w := &watchdog{stall: c.stall()}
	w.timer = time.AfterFunc(w.stall, func() { cancel(fmt.Errorf("nothing has moved for %v: %w", w.stall, errStalled)) })
	return ctx, w, func() {
		w.timer.Stop()
		cancel(context.Canceled)
	}
}

var errStalled net.Error = stalled{}

type stalled struct{}

func (stalled) Error() string   { return "connection stalled" }
func (stalled) Timeout() bool   { return true }
func (stalled) Temporary() bool { return true }

func (w *watchdog) moved() { w.timer.Reset(w.stall) }
