package web_test

import (
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/web"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/sim"
)

// csrf of the forms of a page.
func csrf(doc *goquery.Document) string { return doc.Find("input[name=csrf]").AttrOr("value", "") }

// pair are the ids of two findings of a kind.
func (s *scene) pair() (string, string) {
	s.t.Helper()
	found, err := s.st.ListFindings(s.t.Context(), &misstepv1.ListFindingsRequest{Kind: "mismatch"})
	require.NoError(s.t, err)
	require.Len(s.t, found.GetFindings(), 2)
	return found.GetFindings()[0].GetId(), found.GetFindings()[1].GetId()
}

func TestMergeAndUndo(t *testing.T) {
	s := newScene(t, func(o *web.Options) { o.Writable = true })
	s.run(200, usual()...)
	one, other := s.pair()
	b := s.browser()
	secret := csrf(b.page("/findings/" + one))
	require.NotEmpty(t, secret)

	form := url.Values{"into": {other}, "reason": {"<b>the same</b>"}}
	assert.Equal(t, http.StatusForbidden, b.post("/findings/"+one+"/merge", form).code, "without the secret of the page")
	form.Set("csrf", secret)
	merged := b.post("/findings/"+one+"/merge", form)
	require.Equal(t, http.StatusSeeOther, merged.code, merged.text)
	assert.Equal(t, "/findings/"+other, merged.header.Get("Location"))
	doc := b.page("/findings/" + other)
	assert.Contains(t, words(doc, "[data-part=facts]"), "Merged into it: "+one)
	assert.Regexp(t, `<b>the same</b> local, \d+ (s|min) ago`, words(doc, "[data-part=decisions]"))
	assert.Equal(t, 1, b.page("/findings?kind=mismatch").Find("table.list tbody tr").Length())

	undo := doc.Find("[data-part=decisions] form").AttrOr("action", "")
	require.Equal(t, http.StatusSeeOther, b.post(undo, url.Values{"csrf": {secret}}).code)
	doc = b.page("/findings/" + other)
	assert.Contains(t, words(doc, "[data-part=decisions]"), "undone by local")
	assert.Zero(t, doc.Find("[data-part=decisions] form").Length(), "once")
	assert.Equal(t, http.StatusConflict, b.post(undo, url.Values{"csrf": {secret}}).code)
	assert.Equal(t, 2, b.page("/findings?kind=mismatch").Find("table.list tbody tr").Length())

	form.Set("into", "Fnothing")
	wrong := b.post("/findings/"+one+"/merge", form)
	assert.Equal(t, http.StatusNotFound, wrong.code)
	assert.Contains(t, wrong.text, "Fnothing")
	form.Set("reason", strings.Repeat("x", 2000))
	form.Set("into", other)
	assert.Equal(t, http.StatusBadRequest, b.post("/findings/"+one+"/merge", form).code)
	form.Set("reason", strings.Repeat("x", 100_000))
	assert.Equal(t, http.StatusForbidden, b.post("/findings/"+one+"/merge", form).code, "a form that is too long is not read")
}

// Pages that are served to whoever is on this host change nothing unless that was asked for.
func TestPagesOfThisHostChangeNothing(t *testing.T) {
	s := newScene(t)
	s.run(100, usual()...)
	one, other := s.pair()
	assert.Empty(t, csrf(s.page("/findings/"+one)))
	a := s.post("/findings/"+one+"/merge", url.Values{"into": {other}, "csrf": {""}})
	assert.Equal(t, http.StatusForbidden, a.code)
	assert.Contains(t, a.text, "--web-writable")
}

// What a visitor may change is decided by the role; forms are shown to those who have it.
func TestRolesOfActions(t *testing.T) {
	s, tokenOf := guarded(t)
	as := func(role misstepv1.Role) (*scene, string) {
		b := s.browser()
		require.Equal(t, http.StatusSeeOther, b.post("/login", url.Values{"token": {tokenOf(role, "")}}).code)
		return b, csrf(b.page("/"))
	}
	viewer, viewersSecret := as(misstepv1.Role_ROLE_VIEWER)
	admin, adminsSecret := as(misstepv1.Role_ROLE_ADMIN)
	for _, path := range []string{
		"/findings/F1/merge", "/findings/F1/split", "/findings/F1/note", "/findings/F1/label", "/findings/F1/unlabel",
		"/decisions/1/undo", "/campaigns/C1/stop", "/owners/trust", "/runners/drain", "/campaigns",
	} {
		refused := viewer.post(path, url.Values{"csrf": {viewersSecret}})
		assert.Equal(t, http.StatusForbidden, refused.code, path)
		assert.Contains(t, refused.text, "it needs the role", path)
		form := url.Values{"csrf": {adminsSecret}}
		assert.Equal(t, http.StatusForbidden, viewer.post(path, form).code, "another session's secret")
		assert.NotContains(t, []int{http.StatusForbidden, http.StatusSeeOther}, admin.post(path, form).code, path)
		assert.Equal(t, http.StatusUnauthorized, s.browser().post(path, form).code, path)
	}
	assert.Equal(t, http.StatusForbidden, viewer.get("/people").code)
	assert.NotContains(t, viewer.get("/").text, `href="/people"`)
	doc := admin.page("/people")
	assert.Contains(t, words(doc, "main"), "StopCampaign")
	assert.Contains(t, words(doc, "main"), "PERMISSION_DENIED", "what the viewer tried")
	assert.Equal(t, http.StatusConflict, newScene(t).get("/people").code, "nobody is asked there")
}

// An admin drains a runner on the page of the fleet, and takes it back.
func TestDrain(t *testing.T) {
	s := newScene(t, func(o *web.Options) { o.Writable = true })
	call := func() *misstepv1.SynchronizeResponse {
		r, err := s.st.Leases.Synchronize(t.Context(), &misstepv1.SynchronizeRequest{
			Runner: &misstepv1.Runner{Id: "r1", Host: evil, Slots: 1},
		})
		require.NoError(t, err)
		return r
	}
	require.False(t, call().GetDrain())
	b := s.browser()
	send := func() *goquery.Document {
		t.Helper()
		doc := b.page("/fleet")
		form := doc.Find("form[action$=drain]")
		values := url.Values{}
		form.Find("input").Each(func(_ int, i *goquery.Selection) { values.Set(i.AttrOr("name", ""), i.AttrOr("value", "")) })
		a := b.post(form.AttrOr("action", ""), values)
		require.Equal(t, http.StatusSeeOther, a.code, a.text)
		return b.page("/fleet")
	}
	doc := send()
	assert.Regexp(t, `draining local, \d+ s ago Do not drain`, words(doc, "tbody td:nth-child(2)"))
	assert.True(t, call().GetDrain())
	assert.Contains(t, s.get("/fleet.csv").text, "draining")
	send()
	assert.False(t, call().GetDrain())
	gone := b.post("/runners/drain", url.Values{"csrf": {csrf(doc)}, "runner": {"r2"}})
	assert.Equal(t, http.StatusNotFound, gone.code)
	assert.Contains(t, gone.text, "misstep runners")
	assert.Zero(t, newScene(t).page("/fleet").Find("form").Length(), "these pages change nothing")
}

// failing is a trial that finds a bug, and whose workload fails as well.
func failing(r *misstepv1.Recipe, random *rand.Rand) *misstepv1.Outcome {
	o := bug("Both")(r, random)
	o.ApplicationFailure = &misstepv1.ApplicationFailure{Reason: "exit", Message: "code 3"}
	return o
}

func TestCampaignPage(t *testing.T) {
	s := newScene(t, func(o *web.Options) { o.Writable = true })
	s.run(200, append(usual(), sim.Event{Rate: 0.1, Outcome: failing})...)
	doc := s.page("/campaigns/" + s.campaign)
	assert.Contains(t, words(doc, "[data-part=failed-beside]"), "What failed beside its findings")
	assert.Regexp(t, `mismatches\d+jdk17 exit: code 3`, words(doc, "[data-part=failed-beside] tbody"))
	assert.Contains(t, words(doc, "[data-part=progress] .ends"), "clean")
	assert.Contains(t, words(doc, "[data-part=checks] tbody"), "gst-asgct")
	assert.Contains(t, words(doc, "[data-part=unproved]"), "check gst-asgct did nothing")
	assert.Equal(t, 2, doc.Find("[data-part=compared] tbody tr").Length(), "each JDK by itself")
	assert.Regexp(t, `jdk9AsyncGetCallTracegst-asgct\d+`, words(doc, "[data-part=compared] tbody"))
	assert.Equal(t, 4, doc.Find("[data-part=map] td.cell").Length(), "two JDKs with two flag sets")
	assert.Contains(t, words(doc, "pre"), "jdks: - jdk17 - jdk9")
	assert.Zero(t, doc.Find("form[action$=stop]").Length(), "it has ended")
	assert.Contains(t, words(s.page("/campaigns"), "tbody tr"), "sim done 100")
	assert.Contains(t, words(s.page("/samplers"), "[data-part=samplers]"), "AsyncGetCallTrace")
	assert.Contains(t, words(s.page("/fleet"), "tbody"), "ready")
	assert.Contains(t, words(s.page("/known"), "tbody"), "JDK-8303444")

	s.submit(1_000_000)
	doc = s.page("/campaigns/" + s.campaign)
	b := s.browser()
	stopped := b.post(doc.Find("form[action$=stop]").AttrOr("action", ""), url.Values{"csrf": {csrf(doc)}})
	require.Equal(t, http.StatusSeeOther, stopped.code, stopped.text)
	time.Sleep(10 * time.Millisecond)
	assert.Contains(t, words(s.page("/campaigns/"+s.campaign), "[data-part=progress]"), "stopped")
}
