package web_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/web"
	"misstep/internal/testenv/browser"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/sim"
)

// In a real browser pages do what they do for people, and nothing else: no request to another host, no error of a script, nothing
// that their policy forbids.
func TestInABrowser(t *testing.T) {
	b := browser.Start(t)
	s := newScene(t, onAged, onBisected, func(o *web.Options) {
		o.Writable = true
		o.Bundle = func(_ context.Context, finding, path string) error { return os.WriteFile(path, []byte(finding), 0o600) }
	})
	s.run(300, append(usual(), sim.Event{Rate: 0.05, Outcome: hostile}, sim.Event{Rate: 0.05, Outcome: deadlock})...)
	s.share()
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s *scene, tab *browser.Tab)
	}{
		{"pages", lookAtPages},
		{"many pages", visitMany},
		{"filters", filter},
		{"keyboard", useKeys},
		{"settling", settle},
		{"without scripts", useWithoutScripts},
		{"download", downloadABundle},
		{"merge and undo", mergeAndUndo},
		{"note, label and compare", noteAndLabel},
		{"drain", drainARunner},
		{"new campaign", typeACampaign},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, s.in(t), openTab(t, b, s)) })
	}
	t.Run("live", func(t *testing.T) { followChanges(t, s.in(t), openTab(t, b, s), openTab(t, b, s)) })
	t.Run("login", func(t *testing.T) {
		s, tokenOf := guarded(t)
		logInAndOut(t, openTab(t, b, s), tokenOf)
	})
}

// in is the scene for a part of its test.
func (s *scene) in(t *testing.T) *scene {
	one := *s
	one.t = t
	return &one
}

// openTab opens a tab for the pages of a scene, which must do nothing wrong.
func openTab(t *testing.T, b *browser.Browser, s *scene) *browser.Tab {
	tab := b.Open(t, s.site.URL)
	t.Cleanup(func() { assert.Empty(t, tab.Problems()) })
	return tab
}

// deadlock is an outcome of two threads that wait for each other, one with a hostile name.
func deadlock(*misstepv1.Recipe, *rand.Rand) *misstepv1.Outcome {
	return &misstepv1.Outcome{
		Kind: misstepv1.OutcomeKind_OUTCOME_KIND_HANG, Hang: &misstepv1.Hang{Cause: "deadlock", Threads: []*misstepv1.HungThread{
			{
				Name: "one", Tid: 1, State: "S futex_wait_queue", WaitsFor: "sim.LockA", HeldBy: evil,
				JavaFrames: []string{"sim.Main.one(Main.java:1)"},
			},
			{Name: evil, Tid: 2, State: "S futex_wait_queue", WaitsFor: "sim.LockB", HeldBy: "one", JavaFrames: []string{evil}},
		}},
	}
}

// findingOf is the page of the finding whose title has a part.
func (s *scene) findingOf(part string) string {
	s.t.Helper()
	found, err := s.st.ListFindings(s.t.Context(), &misstepv1.ListFindingsRequest{})
	require.NoError(s.t, err)
	for _, f := range found.GetFindings() {
		if strings.Contains(f.GetTitle(), part) {
			return "/findings/" + f.GetId()
		}
	}
	s.t.Fatalf("no finding of %s", part)
	return ""
}

// examine asserts that a page can be read by everybody in each look, and keeps what it looks like.
func examine(t *testing.T, tab *browser.Tab, name string) {
	t.Helper()
	for _, look := range []browser.Look{browser.Desktop, browser.Phone} {
		tab.Emulate(look)
		for _, v := range tab.Violations() {
			t.Errorf("%s, %s: %s: %s: %+v", name, look.Name, v.ID, v.Help, v.Nodes)
		}
		wider := browser.Eval[int](tab, "document.documentElement.scrollWidth - document.documentElement.clientWidth")
		assert.Zero(t, wider, "%s, %s: wider than the window", name, look.Name)
		tab.Screenshot(name + "-" + look.Name)
	}
}

func lookAtPages(t *testing.T, s *scene, tab *browser.Tab) {
	pages := map[string]string{
		"overview": "/", "bugs": "/findings", "findings": "/findings?by=finding", "matrix": "/matrix", "samplers": "/samplers",
		"fleet": "/fleet", "known": "/known", "campaigns": "/campaigns", "campaign": "/campaigns/" + s.campaign,
		"mismatch": s.findingOf("Both"), "crash": s.findingOf("frame::sender"), "hang": s.findingOf("deadlock"),
		"hostile": s.findingOf("<script>"), "none": "/findings?state=quiet",
		"compare": s.findingOf("Both") + "/compare/" + strings.TrimPrefix(s.findingOf("<script>"), "/findings/"),
	}
	for name, path := range pages {
		require.Equal(t, http.StatusOK, tab.Visit(path), path)
		if name != "compare" { // which does not change
			tab.Await(live)
		}
		assert.Zero(t, browser.Eval[int](tab, `document.querySelectorAll("img").length`), "%s: hostile names are text", name)
		examine(t, tab, name)
		if name == "bugs" || name == "findings" {
			right := browser.Eval[float64](tab, `document.querySelector("td.what").getBoundingClientRect().right`)
			assert.LessOrEqual(t, right, float64(browser.Phone.Width), "%s: on a phone one sees what it is", name)
		}
	}
	require.Equal(t, http.StatusNotFound, tab.Visit("/findings/Fffffffffffff"))
	examine(t, tab, "error")
}

// A browser has six connections to a site: a page that was left must not hold one for its events, or the seventh page waits for a
// minute.
func visitMany(t *testing.T, _ *scene, tab *browser.Tab) {
	began := time.Now()
	for n := range 8 {
		tab.Visit(fmt.Sprintf("/findings?page_size=%d", n+1))
		tab.Await(live)
	}
	assert.Less(t, time.Since(began), 45*time.Second)
}

// live is an expression: a page follows what happens.
const live = `document.querySelector("#live").textContent.includes("Live")`

// rows is an expression: the number of rows of a page's list.
const rows = `document.querySelectorAll("table.list tbody tr").length`

func filter(t *testing.T, _ *scene, tab *browser.Tab) {
	tab.Visit("/findings")
	all := browser.Eval[int](tab, rows)
	assert.Equal(t, http.StatusOK, tab.Follow(
		chromedp.SetValue(chromedp.CSS("select[name=kind]"), "mismatch"),
		chromedp.SendKeys(chromedp.CSS("input[name=jdk]"), "17"),
		chromedp.Click(chromedp.CSS(".filters button"))))
	assert.Contains(t, tab.At(), "kind=mismatch")
	assert.Equal(t, "17", browser.Eval[string](tab, `document.querySelector("input[name=jdk]").value`))
	assert.Equal(t, 3, browser.Eval[int](tab, rows), "two bugs and the hostile one")
	tab.Follow(chromedp.Click(chromedp.CSS(`.filters a`)))
	assert.Equal(t, all, browser.Eval[int](tab, rows))
	assert.Equal(t, http.StatusBadRequest, tab.Follow(
		chromedp.SendKeys(chromedp.CSS("input[name=since]"), "yesterday"), chromedp.Click(chromedp.CSS(".filters button"))))
	assert.Contains(t, browser.Eval[string](tab, `document.querySelector(".verdict").textContent`), "24h")
}

func useKeys(t *testing.T, _ *scene, tab *browser.Tab) {
	tab.Visit("/findings")
	tab.Do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	tab.Await(`document.activeElement.id === "main"`)
	tab.Do(chromedp.KeyEvent(kb.Tab))
	assert.True(t, browser.Eval[bool](tab, `document.activeElement.closest(".filters") !== null`), "past the navigation")
	assert.True(t, browser.Eval[bool](tab, `getComputedStyle(document.activeElement).outlineStyle === "solid"`), "it can be seen")
}

func useWithoutScripts(t *testing.T, _ *scene, tab *browser.Tab) {
	tab.DisableScripts()
	require.Equal(t, http.StatusOK, tab.Visit("/findings"))
	assert.Equal(t, http.StatusOK, tab.Follow(
		chromedp.SetValue(chromedp.CSS("select[name=kind]"), "crash"),
		chromedp.Click(chromedp.CSS(".filters button"))))
	assert.Contains(t, browser.Eval[string](tab, "location.search"), "kind=crash")
}

func downloadABundle(t *testing.T, s *scene, tab *browser.Tab) {
	page := s.findingOf("Both")
	id := strings.TrimPrefix(page, "/findings/")
	tab.Visit(page)
	assert.Equal(t, id, string(tab.Download(`a[href$="/bundle"]`, id+".zip")))
	assert.Equal(t, page, tab.At(), "the page stays")
}

func mergeAndUndo(t *testing.T, s *scene, tab *browser.Tab) {
	from, into := s.findingOf("Only17"), s.findingOf("Both")
	tab.Visit(from)
	assert.Equal(t, http.StatusOK, tab.Follow(
		chromedp.SendKeys(chromedp.CSS("input[name=into]"), strings.TrimPrefix(into, "/findings/")),
		chromedp.SendKeys(chromedp.CSS("form[action$=merge] input[name=reason]"), evil),
		chromedp.Click(chromedp.CSS("form[action$=merge] button"))))
	assert.Equal(t, into, tab.At())
	decided := func() string {
		return browser.Eval[string](tab, `document.querySelector("[data-part=decisions]").textContent`)
	}
	assert.Contains(t, decided(), evil)
	tab.Screenshot("merged-desktop-light")
	assert.Equal(t, http.StatusOK, tab.Follow(chromedp.Click(chromedp.CSS("form[action$=undo] button"))))
	assert.Equal(t, from, tab.At())
	assert.Contains(t, decided(), "undone")
}

// A triager writes down what was found out, labels a finding, takes both back, and looks in what it differs from another one.
func noteAndLabel(t *testing.T, s *scene, tab *browser.Tab) {
	page := s.findingOf("Both")
	tab.Visit(page)
	decided := func() string {
		return browser.Eval[string](tab, `document.querySelector("[data-part=decisions]").textContent`)
	}
	assert.Equal(t, http.StatusOK, tab.Follow(
		chromedp.SendKeys(chromedp.CSS("input[name=text]"), evil), chromedp.Click(chromedp.CSS("form[action$=note] button"))))
	assert.Equal(t, page, tab.At())
	assert.Contains(t, decided(), evil)
	assert.Equal(t, http.StatusOK, tab.Follow(
		chromedp.SendKeys(chromedp.CSS("form[action$=label] input[name=bug]"), "OWN-1"),
		chromedp.Click(chromedp.CSS("form[action$=label] button"))))
	assert.Contains(t, decided(), "Known as OWN-1")
	examine(t, tab, "labelled")
	tab.Emulate(browser.Desktop)
	assert.Equal(t, http.StatusOK, tab.Follow(chromedp.Click(chromedp.CSS("form[action$=unlabel] button"))))
	assert.NotContains(t, decided(), "OWN-1")
	assert.Equal(t, http.StatusOK, tab.Follow(chromedp.Click(chromedp.CSS("form[action$=undo] button"))))
	assert.Contains(t, decided(), "undone")
	assert.Equal(t, http.StatusOK, tab.Follow(chromedp.Click(chromedp.CSS(`a[href*="/compare/"]`))))
	assert.Contains(t, tab.At(), page+"/compare/F")
}

func drainARunner(t *testing.T, s *scene, tab *browser.Tab) {
	_, err := s.st.Leases.Synchronize(t.Context(), &misstepv1.SynchronizeRequest{
		Runner: &misstepv1.Runner{Id: "drained", Slots: 1},
	})
	require.NoError(t, err)
	tab.Visit("/fleet")
	const button = `form[action$=drain]:has(input[value=drained]) button`
	assert.Equal(t, http.StatusOK, tab.Follow(chromedp.Click(chromedp.CSS(button))))
	assert.Contains(t, browser.Eval[string](tab, `document.querySelector("tbody").textContent`), "draining")
	examine(t, tab, "draining")
	tab.Emulate(browser.Desktop)
	assert.Equal(t, http.StatusOK, tab.Follow(chromedp.Click(chromedp.CSS(button))))
	assert.NotContains(t, browser.Eval[string](tab, `document.querySelector("tbody").textContent`), "draining")
}

// A page shows what changed without being loaded again, and leaves alone whoever asked for a pause.
func followChanges(t *testing.T, s *scene, tab, paused *browser.Tab) {
	s.submit(1_000_000)
	page := "/campaigns/" + s.campaign
	const stopped, button = `document.querySelector("[data-part=progress]").textContent.includes("stopped")`, "footer button"
	for _, one := range []*browser.Tab{tab, paused} {
		one.Visit(page)
		one.Await(live)
		require.False(t, browser.Eval[bool](one, "window.old = true, "+stopped))
	}
	paused.Do(chromedp.Click(chromedp.CSS(button)))
	_, err := s.st.StopCampaign(t.Context(), &misstepv1.StopCampaignRequest{CampaignId: s.campaign})
	require.NoError(t, err)
	tab.Await(stopped)
	assert.False(t, browser.Eval[bool](paused, stopped))
	paused.Do(chromedp.Click(chromedp.CSS(button)))
	paused.Await(stopped)
	for _, one := range []*browser.Tab{tab, paused} {
		assert.True(t, browser.Eval[bool](one, "window.old"), "it was not loaded again")
	}
}

func logInAndOut(t *testing.T, tab *browser.Tab, tokenOf tokens) {
	logIn := func(token string) int {
		return tab.Follow(
			chromedp.SendKeys(chromedp.CSS("input[name=token]"), token), chromedp.Click(chromedp.CSS(".login button")))
	}
	require.Equal(t, http.StatusUnauthorized, tab.Visit("/people"))
	examine(t, tab, "login")
	assert.Equal(t, http.StatusUnauthorized, logIn("misstep_nothing"))
	assert.Equal(t, http.StatusOK, logIn(tokenOf(misstepv1.Role_ROLE_ADMIN, "")))
	require.Equal(t, http.StatusOK, tab.Visit("/people"))
	examine(t, tab, "people")
	assert.Empty(t, browser.Eval[string](tab, "document.cookie"), "no script reads the session")
	tab.Follow(chromedp.Click(chromedp.CSS(`form[action="/logout"] button`)))
	assert.Equal(t, http.StatusUnauthorized, tab.Visit("/people"))
}
