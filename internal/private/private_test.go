package private_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/internal/private"
)

// get asks a server as a client of an issuer asks, and trusts its certificate.
func get(t *testing.T, server *httptest.Server, issuer, address string) (string, error) {
	t.Helper()
	client := private.Client(issuer, 20*time.Second, server.Client().Transport)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

func TestAnswersThatDoNotEnd(t *testing.T) {
	line := strings.Repeat(" ", 64<<10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var to io.Writer = w
		switch r.URL.Path {
		case "/whole":
			_, _ = io.WriteString(w, strings.Repeat("x", private.MaxAnswer))
			return
		case "/packed":
			w.Header().Set("Content-Encoding", "gzip")
			to = gzip.NewWriter(w)
		}
		for {
			if _, err := io.WriteString(to, line); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	for _, path := range []string{"/plain", "/packed"} {
		text, err := get(t, server, server.URL, server.URL+path)
		require.ErrorIs(t, err, private.ErrTooLong, path)
		assert.LessOrEqual(t, len(text), private.MaxAnswer, path)
	}
	text, err := get(t, server, server.URL, server.URL+"/whole")
	require.NoError(t, err)
	assert.Len(t, text, private.MaxAnswer)
}

func TestWhereAProviderMayLead(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "read") }))
	defer plain.Close()
	var server *httptest.Server
	server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch to := r.URL.Query().Get("to"); to {
		case "":
			_, _ = io.WriteString(w, "read")
		case "round":
			http.Redirect(w, r, server.URL+"/?to=round", http.StatusFound)
		default:
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		}
	}))
	defer server.Close()
	for _, to := range []string{
		plain.URL, "http://169.254.169.254/latest/meta-data", "http://login.example.org/keys", "file:///etc/passwd", "gopher://x/",
		"https:///x", "round",
	} {
		_, err := get(t, server, server.URL, server.URL+"/?to="+to)
		require.Error(t, err, to)
	}
	for _, address := range []string{plain.URL, "http://login.example.org", "file:///etc/passwd"} {
		_, err := get(t, server, server.URL, address)
		require.ErrorContains(t, err, "expected https:// as for the provider itself", address)
	}
	text, err := get(t, server, server.URL, server.URL+"/?to="+server.URL)
	require.NoError(t, err)
	assert.Equal(t, "read", text)
	text, err = get(t, plain, plain.URL, plain.URL)
	require.NoError(t, err, "a provider of this host")
	assert.Equal(t, "read", text)
}

func TestCheck(t *testing.T) {
	for _, address := range []string{"https://login.example.org", "http://localhost:1", "http://127.0.0.1", "http://[::1]:1"} {
		require.NoError(t, private.Check("it", address))
	}
	for _, address := range []string{
		"", "http://login.example.org", "file:///etc/passwd", "https://", "//x", "http://localhost.example.org", "http://127.0.0.1@x",
		"http://0x7f000001", "javascript:alert(1)", "https:opaque",
	} {
		require.ErrorContains(t, private.Check("it", address), "expected https://", address)
	}
	require.Error(t, private.Check("it", "http://\x00"))
}
