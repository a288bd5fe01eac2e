package web_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/web"
	misstepv1 "misstep/proto/misstep/v1"
)

// Whoever has no role in a project does not learn when something changes there, while others follow it.
func TestStreamsAreForThoseWhoMaySee(t *testing.T) {
	s, tokenOf := guarded(t)
	viewer, stranger := s.browser(), s.browser()
	require.Equal(t, http.StatusSeeOther,
		viewer.post("/login", url.Values{"token": {tokenOf(misstepv1.Role_ROLE_VIEWER, "nightly", "vera")}}).code)
	require.Equal(t, http.StatusSeeOther,
		stranger.post("/login", url.Values{"token": {tokenOf(misstepv1.Role_ROLE_VIEWER, "other", "mallory")}}).code)
	ctx, leave := context.WithTimeout(t.Context(), time.Minute)
	defer leave()
	for _, b := range []struct {
		*scene
		code int
	}{{viewer, http.StatusOK}, {stranger, http.StatusForbidden}} {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.site.URL+"/p/nightly/events", nil)
		require.NoError(t, err)
		response, err := b.client.Do(request)
		require.NoError(t, err)
		t.Cleanup(func() { _ = response.Body.Close() })
		assert.Equal(t, b.code, response.StatusCode)
	}
}

// Bytes that are no text, and names that lead nowhere, are mistakes of whoever sent them and nothing that went wrong here.
func TestOddAddresses(t *testing.T) {
	s := newScene(t, func(o *web.Options) { o.Writable = true })
	const wrong, missing, found = http.StatusBadRequest, http.StatusNotFound, http.StatusOK
	for path, want := range map[string]int{
		"/findings/%ff": wrong, "/campaigns/%ff%fe": wrong, "/findings?jdk=%ff": wrong, "/findings/%ff.json": wrong,
		"/findings/%ff/evidence/x": wrong, "/findings/%ff/history": wrong, "/findings/a/compare/%ff": wrong, "/findings?%ff=x": wrong,
		"/p/%ff/": wrong, "/p/%00/": wrong, "/p//": wrong,
		"/findings/%00": missing, "/findings/F%3Fx": missing, "/findings/.json": missing,
		"/findings?jdk=%00": found, "/findings?a;b": found, "/findings?%zz": found,
		"/findings?x=" + strings.Repeat("y", 100_000): found,
	} {
		a := s.get(path)
		assert.Equal(t, want, a.code, "%.100s", path)
		assert.True(t, utf8.ValidString(a.text), "%.100s", path)
	}
	noted := s.browser().post("/findings/F/note", url.Values{"text": {"\xff"}})
	assert.Equal(t, http.StatusBadRequest, noted.code)
}
