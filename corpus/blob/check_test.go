package blob_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

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
