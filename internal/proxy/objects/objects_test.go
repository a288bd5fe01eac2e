package objects_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"misstep/internal/proxy/objects"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const content = "0123456789"

// store answers reads with content and counts what it has received whole and in part.
type store struct{ whole, part atomic.Int64 }

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		s.part.Add(1)
	case len(data) > 0:
		s.whole.Add(1)
	case r.Method == http.MethodGet:
		w.Header().Set("X-Host", r.Host)
		_, _ = io.WriteString(w, content)
	}
}

// answer is what a client sees.
type answer struct {
	status int
	text   string
	err    error
	header http.Header
}

func start(t *testing.T) (*objects.Proxy, *store, func(method, query, body string) answer) {
	t.Helper()
	s := &store{}
	upstream := httptest.NewServer(s)
	t.Cleanup(upstream.Close)
	p, err := objects.Listen(upstream.URL, 1)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	p.Delay = 20 * time.Millisecond
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return p, s, func(method, query, body string) (a answer) {
		request, err := http.NewRequestWithContext(t.Context(), method, p.Endpoint()+"/bucket/key?"+query, strings.NewReader(body))
		require.NoError(t, err)
		response, err := client.Do(request)
		if err != nil {
			return answer{err: err}
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		return answer{response.StatusCode, string(text), err, response.Header}
	}
}

const signed = "X-Amz-Signature=1"

func TestRequestsPass(t *testing.T) {
	p, s, call := start(t)
	a := call(http.MethodGet, signed, "")
	require.NoError(t, a.err)
	require.Equal(t, content, a.text)
	require.Equal(t, strings.TrimPrefix(p.Endpoint(), "http://"), a.header.Get("X-Host"), "the signed host")
	require.Equal(t, http.StatusOK, call(http.MethodPut, signed, "data").status)
	require.EqualValues(t, 1, s.whole.Load())
	require.Empty(t, p.Hits())
	p.Fail(objects.SlowDown, 1)
	require.Equal(t, http.StatusServiceUnavailable, call(http.MethodGet, signed, "").status)
	p.Heal()
	require.Equal(t, http.StatusOK, call(http.MethodGet, signed, "").status)
	require.ErrorContains(t, p.Upstream("ftp://x"), "expected http://HOST:PORT")
}

// What a client sees of each fault in many requests, and no other thing.
func TestFaults(t *testing.T) {
	whole := func(a answer) bool { return a.err == nil && a.status == http.StatusOK && a.text == content }
	says := func(word string) func(answer) bool {
		return func(a answer) bool { return a.status >= 400 && strings.Contains(a.text, "<Code>"+word+"</Code>") }
	}
	broken := func(a answer) bool { return a.err != nil }
	for fault, wants := range map[objects.Fault]map[string]func(answer) bool{
		objects.Errors: {
			"error":     says("InternalError"),
			"page":      func(a answer) bool { return a.status == http.StatusBadGateway && strings.HasPrefix(a.text, "<html>") },
			"gateway":   func(a answer) bool { return a.status == http.StatusGatewayTimeout },
			"no server": says("ServiceUnavailable"),
		},
		objects.SlowDown: {"SlowDown": func(a answer) bool { return says("SlowDown")(a) && a.header.Get("Retry-After") == "1" }},
		objects.Reset:    {"reset": broken},
		objects.Truncate: {
			"cut":     broken,
			"shorter": func(a answer) bool { return a.err == nil && a.status == http.StatusOK && a.text == content[:5] },
		},
		objects.Slow:    {"whole": whole},
		objects.Expired: {"expired": says("AccessDenied")},
	} {
		p, _, call := start(t)
		p.Fail(fault, 1)
		seen := map[string]int{}
		for range 40 {
			a := call(http.MethodGet, signed, "")
			for name, is := range wants {
				if is(a) {
					seen[name]++
				}
			}
		}
		total := 0
		for name := range wants {
			require.Positive(t, seen[name], "%s: %s", fault, name)
			total += seen[name]
		}
		require.Equal(t, 40, total, "%s: %v", fault, seen)
		require.Equal(t, map[objects.Fault]int{fault: 40}, p.Hits())
	}
}

// An upload is lost before the store has it, or after.
func TestFaultsOfUploads(t *testing.T) {
	data := strings.Repeat("x", 1<<20)
	for fault, want := range map[objects.Fault]struct{ before, after, part bool }{
		objects.Errors:   {before: true, after: true},
		objects.Reset:    {before: true, after: true},
		objects.Truncate: {before: true, part: true},
		objects.Slow:     {after: true},
		objects.Expired:  {before: true},
	} {
		p, s, call := start(t)
		p.Fail(fault, 1)
		before, after := 0, 0
		for range 20 {
			had := s.whole.Load()
			a := call(http.MethodPut, signed, data)
			if fault == objects.Reset {
				require.Error(t, a.err)
			}
			if s.whole.Load() > had {
				after++
			} else {
				before++
			}
		}
		require.Equal(t, want.before, before > 0, "%s: %d before", fault, before)
		require.Equal(t, want.after, after > 0, "%s: %d after", fault, after)
		require.Equal(t, want.part, s.part.Load() > 0, "%s: in part", fault)
	}
}

func TestOnlySignedURLsExpire(t *testing.T) {
	p, _, call := start(t)
	p.Fail(objects.Expired, 1)
	require.Equal(t, http.StatusOK, call(http.MethodGet, "", "").status)
	require.Empty(t, p.Hits())
}
