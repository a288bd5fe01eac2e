package login

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/oauth2-proxy/mockoidc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"misstep/internal/testenv/oidctest"
	misstepv1 "misstep/proto/misstep/v1"
)

// named is a coordinator that names a provider.
type named struct {
	misstepv1.AccessServiceClient
	answer *misstepv1.GetLoginResponse
}

func (n named) GetLogin(context.Context, *misstepv1.GetLoginRequest, ...grpc.CallOption) (*misstepv1.GetLoginResponse, error) {
	return n.answer, nil
}

func at(t *testing.T, issuer, client string) named {
	t.Setenv("MISSTEP_HOME", t.TempDir())
	return named{answer: &misstepv1.GetLoginResponse{
		Authentication: true, Issuer: issuer, ClientId: client, Scopes: []string{"openid", "email", "groups"},
	}}
}

func TestALoginIsKeptForEachAddress(t *testing.T) {
	mock := oidctest.Start(t)
	api := at(t, mock.Issuer(), mock.ClientID)
	user := &mockoidc.MockUser{Subject: "1", Email: "anna@example.org", EmailVerified: true}
	addrs := []string{"a.example.org:1", "b.example.org:1"}
	var prompt Prompt
	require.NoError(t, Login(t.Context(), api, addrs, func(p Prompt) {
		prompt = p
		mock.Approve(mock.Began(), user)
	}))
	assert.Equal(t, mock.Issuer(), prompt.Issuer)
	assert.Len(t, prompt.Code, 8)
	assert.Contains(t, prompt.URL, "http://127.0.0.1:")
	a, err := current(t.Context(), addrs[:1])
	require.NoError(t, err)
	b, err := current(t.Context(), addrs[1:])
	require.NoError(t, err)
	assert.Equal(t, a, b)
	none, err := current(t.Context(), []string{"c.example.org:1"})
	require.NoError(t, err)
	assert.Empty(t, none.IDToken, "a login at one coordinator is not shown to another one")

	known, err := Logout(t.Context(), addrs[1:])
	require.NoError(t, err)
	assert.True(t, known)
	b, err = current(t.Context(), addrs[1:])
	require.NoError(t, err)
	assert.Empty(t, b.IDToken)
	a, err = current(t.Context(), addrs)
	require.NoError(t, err)
	assert.NotEmpty(t, a.IDToken)
}

// A provider may accept each refresh token once: of many calls at the same time one refreshes.
func TestOneRefreshes(t *testing.T) {
	mock := oidctest.Start(t)
	api := at(t, mock.Issuer(), mock.ClientID)
	var mu sync.Mutex
	refreshed := 0
	require.NoError(t, Login(t.Context(), api, []string{"c:1"}, func(Prompt) {
		mock.Approve(mock.Began(), &mockoidc.MockUser{Subject: "1", Email: "anna@example.org", EmailVerified: true})
	}))
	counting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		refreshed++
		mu.Unlock()
		http.Redirect(w, r, mock.TokenEndpoint(), http.StatusTemporaryRedirect)
	}))
	t.Cleanup(counting.Close)
	require.NoError(t, change(t.Context(), func(all *credentials) (bool, error) {
		c := all.Coordinators["c:1"]
		c.Expires, c.TokenURL = time.Now(), counting.URL
		all.Coordinators["c:1"] = c
		return true, nil
	}))
	var waiting sync.WaitGroup
	for range 8 {
		waiting.Go(func() {
			token, err := (&bearer{addrs: []string{"c:1"}}).token(t.Context())
			assert.NoError(t, err) //nolint:testifylint // not on the test's goroutine
			assert.NotEmpty(t, token)
		})
	}
	waiting.Wait()
	assert.Equal(t, 1, refreshed)
}

func TestProvidersThatAreRefused(t *testing.T) {
	mock := oidctest.Start(t)
	never := func(Prompt) { t.Error("nobody is to be asked") }
	for message, api := range map[string]named{
		"the coordinator does not ask who calls":                   {answer: &misstepv1.GetLoginResponse{}},
		"no OpenID provider is configured there":                   {answer: &misstepv1.GetLoginResponse{Authentication: true}},
		`the OpenID provider "http://login.example.org": expected`: at(t, "http://login.example.org", "m"),
		`the OpenID provider "file:///etc/passwd": expected https`: at(t, "file:///etc/passwd", "m"),
		"log in at http://127.0.0.1:1: ":                           at(t, "http://127.0.0.1:1", "m"),
		"the provider answered invalid_client":                     at(t, mock.Issuer(), "other"),
		"log in at http://127.0.0.1:1/?[2J: the OpenID provider: ": at(t, "http://127.0.0.1:1/\x1b[2J", "m"),
	} {
		err := Login(t.Context(), api, []string{"c:1"}, never)
		require.ErrorContains(t, err, message)
	}
	_, err := os.Stat(File())
	require.ErrorIs(t, err, os.ErrNotExist)
}

// The provider's own URLs are checked, too: a token is not sent where others read it.
func TestAProviderThatNamesPlainTextURLs(t *testing.T) {
	for _, field := range []string{"device_authorization_endpoint", "token_endpoint"} {
		var issuer string
		provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			urls := map[string]string{
				"device_authorization_endpoint": "https://login.example.org/device",
				"token_endpoint":                "https://login.example.org/token",
			}
			urls[field] = "http://login.example.org/x"
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"issuer": "` + issuer + `", "jwks_uri": "` + issuer + `/keys", "device_authorization_endpoint": "` +
				urls["device_authorization_endpoint"] + `", "token_endpoint": "` + urls["token_endpoint"] + `"}`))
		}))
		issuer = provider.URL
		err := Login(t.Context(), at(t, issuer, "m"), []string{"c:1"}, func(Prompt) { t.Error("nobody is to be asked") })
		provider.Close()
		require.ErrorContains(t, err, `"http://login.example.org/x": expected https://`)
	}
	mock := oidctest.Start(t)
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"issuer": "` + mock.Issuer() + `", "token_endpoint": "` + mock.TokenEndpoint() + `"}`))
	}))
	defer plain.Close()
	err := Login(t.Context(), at(t, plain.URL, "m"), []string{"c:1"}, nil)
	require.ErrorContains(t, err, "issuer", "the provider calls itself otherwise")
}

func TestLogoutTellsTheProvider(t *testing.T) {
	var got string
	answer := http.StatusOK
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.PostFormValue("token") + " " + r.PostFormValue("client_id")
		w.WriteHeader(answer)
	}))
	defer provider.Close()
	t.Setenv("MISSTEP_HOME", t.TempDir())
	keep := func() {
		require.NoError(t, change(t.Context(), func(all *credentials) (bool, error) {
			all.Coordinators["c:1"] = Credential{
				Issuer: provider.URL, ClientID: "m", RefreshToken: "r", RevocationURL: provider.URL,
			}
			return true, nil
		}))
	}
	keep()
	known, err := Logout(t.Context(), []string{"c:1"})
	require.NoError(t, err)
	assert.True(t, known)
	assert.Equal(t, "r m", got)
	keep()
	answer = http.StatusServiceUnavailable
	known, err = Logout(t.Context(), []string{"c:1"})
	require.ErrorContains(t, err, "the provider did not end the login: it answered 503")
	assert.True(t, known, "it is forgotten here")
	known, err = Logout(t.Context(), []string{"c:1"})
	require.NoError(t, err)
	assert.False(t, known)
}

func TestFilesOfLoginsThatAreRefused(t *testing.T) {
	t.Setenv("MISSTEP_HOME", t.TempDir())
	for text, message := range map[string]string{
		"":               "remove it and log in again",
		`[]`:             "remove it and log in again",
		`{"version": 2}`: "version 2 is not supported",
	} {
		require.NoError(t, os.WriteFile(File(), []byte(text), 0o600))
		_, err := load()
		require.ErrorContains(t, err, message)
	}
	require.NoError(t, os.WriteFile(File(), []byte(`{"version": 1, "coordinators": null}`), 0o600))
	require.NoError(t, change(t.Context(), func(all *credentials) (bool, error) {
		all.Coordinators["c:1"] = Credential{IDToken: "x"}
		return true, nil
	}))
	require.NoError(t, os.Chmod(File(), 0o604))
	_, err := load()
	require.ErrorContains(t, err, "others can read the logins")
}

// A coordinator that names a hostile provider gets nothing but its answer, of bounded length, and leads nowhere else.
func TestHostileProviders(t *testing.T) {
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("nobody is to be led here") }))
	defer inside.Close()
	for name, answer := range map[string]http.HandlerFunc{
		"without end": func(w http.ResponseWriter, _ *http.Request) {
			blank := bytes.Repeat([]byte(" "), 64<<10)
			for {
				if _, err := w.Write(blank); err != nil {
					return
				}
			}
		},
		"an error without end": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = w.Write(bytes.Repeat([]byte("\x1b[2J"), 100<<10))
		},
		"to a file": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		},
		"to plain text": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		},
		"in a circle": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) },
		"deep": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(bytes.Repeat([]byte(`{"issuer":`), 100<<10))
		},
	} {
		provider := httptest.NewServer(answer)
		err := Login(t.Context(), at(t, provider.URL, "m"), []string{"c:1"}, func(Prompt) { t.Error("nobody is to be asked") })
		provider.Close()
		require.Error(t, err, name)
		assert.Less(t, len(err.Error()), 1000, name)
		assert.NotContains(t, err.Error(), "\x1b", name)
	}
}
