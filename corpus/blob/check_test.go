package blob_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/internal/proxy/objects"
	"misstep/internal/testenv"
)

// A store that takes any bytes is found out, also when it is overloaded at first: that it refuses a request then proves nothing.
func TestAStoreThatTakesAnythingIsFoundOut(t *testing.T) {
	for name, first := range map[string]int{"at once": http.StatusOK, "overloaded": http.StatusServiceUnavailable} {
		var uploads atomic.Int64
		careless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if r.Method == http.MethodPut && uploads.Add(1) == 1 {
				w.WriteHeader(first)
			}
		}))
		store := open(t, testenv.S3{Endpoint: careless.URL, Bucket: "careless", AccessKey: "a", SecretKey: "s"}, "")
		require.ErrorContains(t, store.CheckSigned(t.Context()), "accepts bytes that do not have the signed SHA-256", name)
		careless.Close()
	}
}

// What the check stores is no blob: while one process checks, another that looks finds none, with or without a prefix.
func TestAStoreThatIsCheckedIsEmpty(t *testing.T) {
	s := testenv.StartS3(t)
	target, err := url.Parse(s.Endpoint)
	require.NoError(t, err)
	for _, prefix := range []string{"", "a/b"} {
		observer := open(t, s, prefix)
		var looks atomic.Int64
		forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host // and Host stays, which is signed
		}}
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodDelete { // what it has stored is still there
				looks.Add(1)
				empty, err := observer.Empty(r.Context())
				assert.NoError(t, err)
				assert.True(t, empty, "below %q", prefix)
				names, err := observer.List(r.Context(), "probe")
				assert.NoError(t, err)
				assert.Len(t, names, 1)
			}
			forward.ServeHTTP(w, r)
		}))
		at := s
		at.Endpoint = front.URL
		require.NoError(t, open(t, at, prefix).CheckSigned(t.Context()))
		require.EqualValues(t, 1, looks.Load())
		front.Close()
	}
}

// The check outlasts an object store that fails now and then.
func TestACarefulStoreThatFailsIsAccepted(t *testing.T) {
	s := testenv.StartS3(t)
	for _, fault := range objects.All {
		if fault == objects.Expired {
			continue // of a new signature: a clock is wrong
		}
		proxy, err := objects.Listen(s.Endpoint, 3)
		require.NoError(t, err)
		proxy.Delay = 10 * time.Millisecond
		s := s
		s.Endpoint = proxy.Endpoint()
		store := open(t, s, "")
		proxy.Fail(fault, 0.3)
		for range 5 {
			require.NoError(t, store.CheckSigned(t.Context()), fault)
		}
		require.Positive(t, proxy.Hits()[fault])
		require.NoError(t, proxy.Close())
	}
}
