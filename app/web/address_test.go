package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	misstepv1 "misstep/proto/misstep/v1"
)

// from makes a request from an address.
func (s *scene) from(address string, r *http.Request) *httptest.ResponseRecorder {
	r.RemoteAddr = address
	w := httptest.NewRecorder()
	s.site.Config.Handler.ServeHTTP(w, r)
	return w
}

// guess is a token that does not exist.
func guess(i int) string {
	return "misstep_" + strings.Repeat(strconv.Itoa(i%10), 10) + "_" + strings.Repeat("v", 52)
}

func login(token string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/login", strings.NewReader(url.Values{"token": {token}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

func shows(token string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/findings.json", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

// Whoever guesses tokens through the pages is refused, by forms as by headers, and nobody at another address.
func TestGuessesThroughPagesAreCountedByAddress(t *testing.T) {
	s, tokenOf := guarded(t)
	good := tokenOf(misstepv1.Role_ROLE_VIEWER, "")
	for address, request := range map[string]func(string) *http.Request{"192.0.2.7:1": login, "192.0.2.9:1": shows} {
		var refused *httptest.ResponseRecorder
		tried := 0
		for ; tried < 300; tried++ { // it takes more than 31 when they take more than a second
			if refused = s.from(address, request(guess(tried))); refused.Code == http.StatusTooManyRequests {
				break
			}
			require.Equal(t, http.StatusUnauthorized, refused.Code, "%s: %s", address, refused.Body)
		}
		assert.GreaterOrEqual(t, tried, 30)
		require.Equal(t, http.StatusTooManyRequests, refused.Code, address)
		assert.Contains(t, refused.Body.String(), "come back in")
		assert.Equal(t, "1", refused.Header().Get("Retry-After"))
		other := strings.Replace(address, "192.0.2", "198.51.100", 1)
		assert.Equal(t, http.StatusUnauthorized, s.from(other, request(guess(1))).Code, "it is known what is wrong")
	}
	assert.Equal(t, http.StatusSeeOther, s.from("198.51.100.7:1", login(good)).Code)
	assert.Equal(t, http.StatusOK, s.from("192.0.2.9:1", shows(good)).Code, "what can be good is looked at")

	admin := s.browser()
	require.Equal(t, http.StatusSeeOther, admin.post("/login", url.Values{"token": {tokenOf(misstepv1.Role_ROLE_ADMIN, "")}}).code)
	assert.Contains(t, words(admin.page("/people"), "main"), "192.0.2.7", "the audit log says from where")
}
