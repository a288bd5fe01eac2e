package web_test

import (
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/station"
	"misstep/app/web"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/sim"
)

// tokens makes a token with a role in a project, called "t" or by another name.
type tokens func(role misstepv1.Role, project string, name ...string) string

// guarded is a scene whose coordinator asks who calls, and what makes tokens of it.
func guarded(t *testing.T, change ...options) (*scene, tokens) {
	t.Helper()
	return guardedAt(t, t.TempDir(), change...)
}

func guardedAt(t *testing.T, dir string, change ...options) (*scene, tokens) {
	t.Helper()
	s := newSceneAt(t, station.Place{Dir: dir, Accounts: station.Accounts{Ask: true}},
		append([]options{func(o *web.Options) { o.Asks = true }}, change...)...)
	return s, tokensIn(t, dir)
}

// tokensIn makes tokens of a coordinator's folder.
func tokensIn(t *testing.T, dir string) tokens {
	t.Helper()
	return func(role misstepv1.Role, project string, name ...string) string {
		t.Helper()
		access, stop, err := station.OpenAccess(t.Context(), dir, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		defer stop()
		made, err := access.CreateToken(t.Context(), &misstepv1.CreateTokenRequest{
			Name: append(name, "t")[0], Grants: []*misstepv1.Grant{{Role: role, Project: project}},
		})
		require.NoError(t, err)
		return made.GetSecret()
	}
}

// browser keeps cookies and does not follow redirections.
func (s *scene) browser() *scene {
	jar, err := cookiejar.New(nil)
	require.NoError(s.t, err)
	one := *s
	one.client = &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &one
}

func (s *scene) post(path string, form url.Values) answer {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.site.URL+path, strings.NewReader(form.Encode()))
	require.NoError(s.t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return s.do(request)
}

func TestLogin(t *testing.T) {
	s, tokenOf := guarded(t)
	viewer := tokenOf(misstepv1.Role_ROLE_VIEWER, "")
	b := s.browser()
	asked := b.get("/findings?kind=crash")
	assert.Equal(t, http.StatusUnauthorized, asked.code)
	assert.Contains(t, asked.text, `name="token"`)
	assert.Contains(t, asked.text, `value="/findings?kind=crash"`, "where it leads")
	assert.Equal(t, http.StatusUnauthorized, b.get("/findings.json").code)
	assert.Equal(t, http.StatusUnauthorized, b.get("/events").code)
	assert.Equal(t, http.StatusOK, b.get("/static/style.css").code)

	refused := b.post("/login", url.Values{"token": {viewer[:len(viewer)-1] + "x"}, "to": {"/"}})
	assert.Equal(t, http.StatusUnauthorized, refused.code)
	assert.NotContains(t, refused.text, viewer[10:30], "it shows no part of what was typed")
	assert.Empty(t, refused.header.Get("Set-Cookie"))

	in := b.post("/login", url.Values{"token": {viewer}, "to": {"/findings?kind=crash"}})
	require.Equal(t, http.StatusSeeOther, in.code, in.text)
	assert.Equal(t, "/findings?kind=crash", in.header.Get("Location"))
	cookie := in.header.Get("Set-Cookie")
	assert.Contains(t, cookie, "HttpOnly")
	assert.Contains(t, cookie, "SameSite=Lax")
	assert.NotContains(t, cookie, viewer)
	doc := b.page("/findings?kind=crash")
	assert.Contains(t, words(doc, ".who"), "token")
	assert.NotContains(t, b.get("/").text, viewer)
	assert.Equal(t, http.StatusUnauthorized, s.browser().get("/").code, "another browser")

	assert.Equal(t, http.StatusForbidden, b.post("/logout", url.Values{}).code, "a form of another site")
	out := b.post("/logout", url.Values{"csrf": {doc.Find("input[name=csrf]").AttrOr("value", "")}})
	assert.Equal(t, http.StatusSeeOther, out.code)
	assert.Equal(t, http.StatusUnauthorized, b.get("/").code)
}

// A login leads to a page of this site, whatever the link to it says.
func TestLoginLeadsNowhereElse(t *testing.T) {
	s, tokenOf := guarded(t)
	viewer := tokenOf(misstepv1.Role_ROLE_VIEWER, "")
	for _, to := range []string{
		"https://evil.example", "//evil.example", `/\evil.example`, `\\evil.example`, "javascript:alert(1)", "", "/login", "evil",
		"http:evil.example", "/%2f/evil.example",
	} {
		in := s.browser().post("/login", url.Values{"token": {viewer}, "to": {to}})
		require.Equal(t, http.StatusSeeOther, in.code, to)
		at, err := url.Parse(in.header.Get("Location"))
		require.NoError(t, err)
		assert.Empty(t, at.Host+at.Scheme, to)
		assert.Regexp(t, `^/([^/\\]|$)`, in.header.Get("Location"), to)
	}
}

// Whoever has a role in one project sees that project and no other; scripts show their token themselves.
func TestRolesOfVisitors(t *testing.T) {
	s, tokenOf := guarded(t)
	b := s.browser()
	in := b.post("/login", url.Values{"token": {tokenOf(misstepv1.Role_ROLE_VIEWER, "nightly")}})
	require.Equal(t, http.StatusSeeOther, in.code)
	assert.Equal(t, http.StatusOK, b.get("/p/nightly/findings").code)
	for _, path := range []string{"/findings", "/", "/p/other/findings.json", "/events", "/matrix.csv"} {
		assert.Equal(t, http.StatusForbidden, b.get(path).code, path)
	}

	// What is kept for those who may see it is not given to others.
	all := tokenOf(misstepv1.Role_ROLE_VIEWER, "")
	request := func(token string) answer {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.site.URL+"/findings.json", nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		return s.do(r)
	}
	assert.Equal(t, http.StatusOK, request(all).code)
	assert.Equal(t, http.StatusForbidden, b.get("/findings").code)
	assert.Equal(t, http.StatusUnauthorized, request("misstep_nothing").code)
	runner := request(tokenOf(misstepv1.Role_ROLE_RUNNER, ""))
	assert.Equal(t, http.StatusForbidden, runner.code)
}

// An embargoed finding is seen by the people whom it names, whatever was kept for others.
func TestEmbargoHoldsOnPages(t *testing.T) {
	dir := t.TempDir()
	fill := newSceneAt(t, station.Place{Dir: dir})
	fill.run(50, sim.Event{Rate: 1, Outcome: bug("Secret")})
	found, err := fill.st.ListFindings(t.Context(), &misstepv1.ListFindingsRequest{})
	require.NoError(t, err)
	id := found.GetFindings()[0].GetId()
	_, err = fill.st.SetVisibility(t.Context(), &misstepv1.SetVisibilityRequest{
		FindingId: id, Visibility: misstepv1.Visibility_VISIBILITY_PRIVATE, People: []string{"token named"},
	})
	require.NoError(t, err)
	fill.st.Close()

	s, tokenOf := guardedAt(t, dir)
	triager, viewer, named := s.browser(), s.browser(), s.browser()
	for b, token := range map[*scene]string{
		triager: tokenOf(misstepv1.Role_ROLE_TRIAGER, ""), viewer: tokenOf(misstepv1.Role_ROLE_VIEWER, ""),
		named: tokenOf(misstepv1.Role_ROLE_VIEWER, "", "named"),
	} {
		require.Equal(t, http.StatusSeeOther, b.post("/login", url.Values{"token": {token}}).code)
	}
	for _, path := range []string{"/", "/findings", "/findings.json", "/matrix.csv", "/findings?by=finding"} {
		assert.Contains(t, triager.get(path).text, id, path)
		assert.Contains(t, named.get(path).text, id, path)
		assert.NotContains(t, viewer.get(path).text, id, path)
	}
	assert.Equal(t, http.StatusOK, triager.get("/findings/"+id).code)
	assert.Equal(t, http.StatusOK, named.get("/findings/"+id).code)
	assert.Equal(t, http.StatusNotFound, viewer.get("/findings/"+id).code)
	assert.Equal(t, http.StatusNotFound, viewer.get("/findings/"+id+"/evidence/mismatches.jsonl").code)
}

func TestSessionsEnd(t *testing.T) {
	now := time.Now()
	s, tokenOf := guarded(t, func(o *web.Options) { o.Clock = func() time.Time { return now } })
	viewer := tokenOf(misstepv1.Role_ROLE_VIEWER, "")
	b := s.browser()
	require.Equal(t, http.StatusSeeOther, b.post("/login", url.Values{"token": {viewer}}).code)
	for range 14 { // used every eleven hours
		assert.Equal(t, http.StatusOK, b.get("/").code)
		now = now.Add(11 * time.Hour)
	}
	assert.Equal(t, http.StatusOK, b.get("/").code)
	now = now.Add(13 * time.Hour)
	ended := b.get("/")
	assert.Equal(t, http.StatusUnauthorized, ended.code, "not used for too long")
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(ended.text))
	require.NoError(t, err)
	assert.Contains(t, words(doc, ".verdict"), "session has ended")
}
