package accounts_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/coordinator/accounts"
	misstepv1 "misstep/proto/misstep/v1"
)

// someToken is one that no key signed.
const someToken = "eyJhbGciOiJSUzI1NiIsImtpZCI6ImsifQ.e30.AAAA"

// What a provider, or whatever answers in its place, costs a coordinator is bounded, and so is what callers are shown of it.
func TestProvidersThatAnswerWithoutEnd(t *testing.T) {
	blank := strings.Repeat(" ", 64<<10)
	flood := func(w io.Writer, before string) {
		_, _ = io.WriteString(w, before)
		for range 4 << 10 { // 256 MiB, should nothing stop it
			if _, err := io.WriteString(w, blank); err != nil {
				return
			}
		}
	}
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request, issuer string){
		"configuration": func(w http.ResponseWriter, _ *http.Request, _ string) { flood(w, `{"issuer":"`) },
		"error": func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.WriteHeader(http.StatusBadGateway)
			flood(w, "<html>\x1b[2J")
		},
		"keys": func(w http.ResponseWriter, r *http.Request, issuer string) {
			if r.URL.Path != "/keys" {
				_, _ = io.WriteString(w, `{"issuer":"`+issuer+`","jwks_uri":"`+issuer+`/keys"}`)
				return
			}
			flood(w, `{"keys":[`)
		},
	} {
		var issuer string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			answer(w, r, issuer)
		}))
		issuer = server.URL
		provider, err := accounts.NewProvider(accounts.ProviderConfig{Issuer: issuer, ClientID: "misstep"})
		require.NoError(t, err)
		l := newLab(t, provider)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = l.api.WhoAmI(l.with(someToken), &misstepv1.WhoAmIRequest{})
		runtime.ReadMemStats(&after)
		server.Close()
		require.Contains(t, []codes.Code{codes.Unavailable, codes.Unauthenticated}, status.Code(err), err)
		assert.Less(t, len(err.Error()), 1000, name)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(32<<20), name)
	}
}

// Keys come from where nobody can change them, whatever the configuration names.
func TestKeysThatOthersCouldChange(t *testing.T) {
	for _, keys := range []string{"http://login.example.org/keys", "file:///etc/passwd", "http://169.254.169.254/latest/meta-data"} {
		var issuer string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"issuer":"`+issuer+`","jwks_uri":"`+keys+
				`","id_token_signing_alg_values_supported":["none","HS256"]}`)
		}))
		issuer = server.URL
		provider, err := accounts.NewProvider(accounts.ProviderConfig{Issuer: issuer, ClientID: "misstep"})
		require.NoError(t, err)
		l := newLab(t, provider)
		for _, token := range []string{someToken, "eyJhbGciOiJub25lIn0.e30.", "eyJhbGciOiJIUzI1NiJ9.e30.AAAA"} {
			_, err = l.api.WhoAmI(l.with(token), &misstepv1.WhoAmIRequest{})
			require.Equal(t, codes.Unauthenticated, status.Code(err), keys)
		}
		server.Close()
	}
}
