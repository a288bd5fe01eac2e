package direct_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/corpus"
	"misstep/corpus/corpustest"
	"misstep/corpus/direct"
)

// bench is an object store that answers its n-th request, from 1, with the n-th handler, and further ones with the last.
type bench struct {
	handlers []http.HandlerFunc
	requests atomic.Int64
	signed   atomic.Int64
	url      string
	client   direct.Client
}

func newBench(t *testing.T, handlers ...http.HandlerFunc) *bench {
	t.Helper()
	b := &bench{handlers: handlers}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(b.requests.Add(1))
		handlers[min(n, len(handlers))-1](w, r)
	}))
	t.Cleanup(server.Close)
	b.url = server.URL + "/blob?signature=secret"
	b.client = direct.Client{
		Tries: 4, Stall: 100 * time.Millisecond, Backoff: func() backoff.BackOff { return backoff.NewConstantBackOff(time.Millisecond) },
	}
	return b
}

func (b *bench) sign(size int64) direct.Sign {
	return func(context.Context) (corpus.SignedRequest, error) {
		b.signed.Add(1)
		return corpus.SignedRequest{URL: b.url, Headers: map[string]string{"X-Signed": "yes"}, Size: size}, nil
	}
}

func (b *bench) read(t *testing.T, size int64) ([]byte, error) {
	t.Helper()
	r, got, err := b.client.Open(t.Context(), b.sign(size))
	if err != nil {
		return nil, err
	}
	assert.Equal(t, size, got)
	defer r.Close()
	return io.ReadAll(r)
}

func refuse(status int, code, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<Error><Code>"+code+"</Code><Message>"+message+"</Message></Error>")
	}
}

var data = corpustest.Blob(1, 500_000)

// serve serves data with ranges.
func serve(w http.ResponseWriter, r *http.Request) {
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

// stall sends a part and then nothing until the client has gone.
func stall(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the client has gone
	if r.Method == http.MethodGet {
		w.Header().Set("Content-Length", "500000")
		_, _ = w.Write(data[:100_000])
		_ = http.NewResponseController(w).Flush()
	}
	<-r.Context().Done()
}

func TestAStalledDownloadGoesOn(t *testing.T) {
	var ranges []string
	b := newBench(t, stall, func(w http.ResponseWriter, r *http.Request) {
		ranges = append(ranges, r.Header.Get("Range"))
		assert.Equal(t, "yes", r.Header.Get("X-Signed"))
		serve(w, r)
	})
	got, err := b.read(t, int64(len(data)))
	require.NoError(t, err)
	assert.True(t, bytes.Equal(data, got))
	assert.Equal(t, []string{"bytes=100000-499999"}, ranges)
	assert.Equal(t, int64(2), b.signed.Load(), "signed anew for each request")
}

func TestWhatIsTriedAgain(t *testing.T) {
	for name, first := range map[string]http.HandlerFunc{
		"overloaded":      refuse(http.StatusServiceUnavailable, "SlowDown", "Reduce your request rate"),
		"expired":         refuse(http.StatusForbidden, "AccessDenied", "Request has expired"),
		"in conflict":     refuse(http.StatusConflict, "ConditionalRequestConflict", "at the same time"),
		"absent just now": refuse(http.StatusNotFound, "NoSuchKey", "absent"),
		"broken":          func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		b := newBench(t, first, serve)
		got, err := b.read(t, int64(len(data)))
		require.NoError(t, err, name)
		assert.Len(t, got, len(data), name)
		assert.Equal(t, int64(2), b.requests.Load(), name)

		b = newBench(t, first, func(http.ResponseWriter, *http.Request) {})
		require.NoError(t, b.client.Write(t.Context(), b.sign(10), bytes.NewReader(data), 10), name)
		assert.Equal(t, int64(2), b.signed.Load(), name)
	}
}

func TestAnObjectStoreSaysHowLongToWait(t *testing.T) {
	for after, want := range map[string][2]time.Duration{
		"1": {time.Second, 20 * time.Second}, "0": {0, time.Second}, "soon": {0, time.Second},
	} {
		b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", after)
			refuse(http.StatusServiceUnavailable, "SlowDown", "later")(w, r)
		}, serve)
		began := time.Now()
		_, err := b.read(t, int64(len(data)))
		require.NoError(t, err)
		require.GreaterOrEqual(t, time.Since(began), want[0], after)
		require.Less(t, time.Since(began), want[1], after)
	}
}

// That an object store has a blob already is believed when who signs finds it there, too.
func TestABlobThatIsSaidToBeThere(t *testing.T) {
	b := newBench(t, refuse(http.StatusPreconditionFailed, "PreconditionFailed", "it is there"))
	there := false
	sign := func(ctx context.Context) (corpus.SignedRequest, error) {
		if there {
			return corpus.SignedRequest{}, nil
		}
		there = b.signed.Load() == 1 // another writer ends
		return b.sign(10)(ctx)
	}
	require.NoError(t, b.client.Write(t.Context(), sign, bytes.NewReader(data), 10))
	assert.Equal(t, int64(2), b.requests.Load())

	b = newBench(t, refuse(http.StatusPreconditionFailed, "PreconditionFailed", "it is there"))
	require.ErrorIs(t, b.client.Write(t.Context(), b.sign(10), bytes.NewReader(data), 10), direct.ErrContradiction)
	assert.Equal(t, int64(3), b.requests.Load())
}

func TestWhatIsNotTriedAgain(t *testing.T) {
	for code, status := range map[string]int{"BadDigest": 400, "SignatureDoesNotMatch": 403, "EntityTooLarge": 413} {
		b := newBench(t, refuse(status, code, "no"))
		err := b.client.Write(t.Context(), b.sign(10), bytes.NewReader(data), 10)
		require.ErrorContains(t, err, code)
		require.NotErrorIs(t, err, corpus.ErrUnavailable)
		assert.Equal(t, int64(1), b.requests.Load(), code)
	}
}

// An object store sends nobody elsewhere: neither with the headers nor with the bytes that it was given.
func TestRedirectsAreNotFollowed(t *testing.T) {
	reached := false
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer inside.Close()
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect} {
		b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, inside.URL+"/latest/meta-data", status)
		})
		_, err := b.read(t, 10)
		require.ErrorContains(t, err, http.StatusText(status))
		err = b.client.Write(t.Context(), b.sign(10), bytes.NewReader(data), 10)
		require.ErrorContains(t, err, http.StatusText(status))
		assert.Equal(t, int64(2), b.requests.Load(), "for good")
	}
	assert.False(t, reached)
}

// Whatever is signed, only HTTP is spoken, and what an object store says is repeated in part.
func TestHostileAnswersOfAnObjectStore(t *testing.T) {
	for _, address := range []string{"file:///etc/passwd", "unix:///run/docker.sock", "gopher://127.0.0.1/x", "\x00", ""} {
		b := newBench(t, serve)
		b.url = address
		_, err := b.read(t, 10)
		require.Error(t, err, address)
		assert.Zero(t, b.requests.Load())
	}
	b := newBench(t, refuse(http.StatusForbidden, strings.Repeat("C", 30<<10), strings.Repeat("M", 30<<10)))
	_, err := b.read(t, 10)
	require.Error(t, err)
	assert.Less(t, len(err.Error()), 1000)
	b = newBench(t, func(w http.ResponseWriter, _ *http.Request) { // more than was signed, without an end
		for {
			if _, err := w.Write(data); err != nil {
				return
			}
		}
	})
	got, err := b.read(t, 1000)
	require.NoError(t, err)
	assert.Len(t, got, 1000)
}

func TestGivingUp(t *testing.T) {
	b := newBench(t, refuse(http.StatusServiceUnavailable, "SlowDown", "later"))
	_, err := b.read(t, 10)
	require.ErrorContains(t, err, "SlowDown: later")
	require.ErrorIs(t, err, corpus.ErrUnavailable)
	assert.Equal(t, int64(4), b.requests.Load())

	b = newBench(t, stall)
	err = b.client.Write(t.Context(), b.sign(10), bytes.NewReader(data), 10)
	require.ErrorContains(t, err, "nothing has moved for 100ms")

	b = newBench(t, serve)
	b.url = "http://127.0.0.1:1/blob?signature=secret"
	_, err = b.read(t, 10)
	require.ErrorContains(t, err, "127.0.0.1:1")
	assert.NotContains(t, err.Error(), "secret")

	// The first request brings bytes, and each further one none.
	b = newBench(t, stall, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "400000")
		w.WriteHeader(http.StatusPartialContent)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	_, err = b.read(t, int64(len(data)))
	require.ErrorContains(t, err, "after 100000 of 500000 bytes")
	require.ErrorIs(t, err, corpus.ErrUnavailable)
}

func TestACallerThatHasGone(t *testing.T) {
	b := newBench(t, stall)
	b.client.Stall = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	r, _, err := b.client.Open(ctx, b.sign(int64(len(data))))
	require.NoError(t, err)
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err = io.ReadAll(r)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, r.Close())
}
