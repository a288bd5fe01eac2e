package web_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/web"
	"misstep/coordinator/catalogue"
	"misstep/corpus/tree"
	"misstep/internal/testenv/browser"
	misstepv1 "misstep/proto/misstep/v1"
)

// share adds two JDKs and two workloads to the shared catalogue of a scene; one of the workloads runs on the newer JDK only.
func (s *scene) share() {
	s.t.Helper()
	add := func(r *misstepv1.AddCatalogueEntryRequest, files map[string]string) {
		s.t.Helper()
		dir := s.t.TempDir()
		for name, text := range files {
			require.NoError(s.t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
			require.NoError(s.t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700)) //nolint:gosec // java is a program
		}
		m, err := tree.Scan(dir)
		require.NoError(s.t, err)
		require.NoError(s.t, tree.Push(s.t.Context(), s.st.Blobs, dir, m))
		r.Digest = m.Digest().String()
		_, err = s.st.Catalogue.AddCatalogueEntry(s.t.Context(), r)
		require.NoError(s.t, err)
	}
	for name, feature := range map[string]uint32{"jdk9": 9, "jdk17": 17} {
		add(&misstepv1.AddCatalogueEntryRequest{
			Kind: catalogue.JDK, Name: name, Jdk: &misstepv1.JdkFacts{Version: name + ".0.1", Feature: feature},
		}, map[string]string{"bin/java": name, "lib/modules": name})
	}
	for name, oldest := range map[string]string{"w": "8", "young": "17"} {
		add(&misstepv1.AddCatalogueEntryRequest{Kind: catalogue.Workload, Name: name}, map[string]string{
			"workload.yaml": "name: " + name + "\ndescription: d\nmain: M\nclasspath: [lib]\nrepetitions: 1\nmin_feature: " + oldest + "\n",
			"lib/M.class":   name,
		})
	}
}

// What is written into the fields is checked as the command line does it, and submitted as it was shown.
func TestNewCampaign(t *testing.T) {
	s := newScene(t, func(o *web.Options) { o.Writable = true })
	s.run(200, usual()...)
	s.share()
	b := s.browser()
	doc := b.page("/campaigns/new")
	assert.Equal(t, 2, doc.Find("input[name=jdk]").Length())
	assert.Zero(t, doc.Find(".problems").Length(), "nothing was written yet")
	assert.Zero(t, doc.Find("form[method=post]").Length()-doc.Find("form[action='/logout']").Length())

	fields := url.Values{
		"name": {"mine"}, "seed": {"5"}, "trials": {"100"}, "jdk": {"jdk9", "jdk17"}, "workload": {"w", "young"},
		"flags-of": {"default"}, "flags": {"-Xcomp -XX:+UseSerialGC\n\n"}, "check": {"gst-asgct"},
	}
	at := func(change ...string) string {
		q := url.Values{}
		maps.Copy(q, fields)
		for i := 0; i < len(change); i += 2 {
			q[change[i]] = strings.Fields(change[i+1])
		}
		return q.Encode()
	}
	doc = b.page("/campaigns/new?" + at())
	assert.Contains(t, words(doc, "[data-part=check]"), "combinations6 ", "one workload runs on one of the JDKs")
	assert.Contains(t, words(doc, "[data-part=check]"), "16.7 of each combination")
	assert.Contains(t, words(doc, "[data-part=check]"), "Left out: ")
	text := doc.Find("[data-part=check] pre").Text()
	assert.True(t, strings.HasPrefix(text, "name: mine\nseed: 5\njdks:\n    - jdk9\n"), text)
	assert.Contains(t, text, "trials: 100")

	var asJSON struct {
		Combinations uint64
		Problems     []struct{ Field, Message string }
	}
	require.NoError(t, json.Unmarshal([]byte(b.get("/campaigns/new.json?"+at()).text), &asJSON))
	assert.EqualValues(t, 6, asJSON.Combinations)
	for change, want := range map[string]string{
		"jdk jdk99": "unknown JDK", "trials many": `trials: expected a number, got "many"`,
		"time soon":        "time: expected a time such as 90m",
		"workload nothing": "unknown workload", "check gst": "checks[0]", "name a/b": "name", "seed -3": "seed",
	} {
		name, value, _ := strings.Cut(change, " ")
		doc = b.page("/campaigns/new?" + at(name, value))
		assert.Contains(t, words(doc, ".problems"), want, change)
		assert.Zero(t, doc.Find("form[action='/campaigns']").Length(), change)
	}

	doc = b.page("/campaigns/new?" + at())
	whole, _ := doc.Find("[data-part=check] a[href^='?yaml']").Attr("href")
	require.NotEmpty(t, whole)
	edited := b.page("/campaigns/new" + whole)
	assert.Equal(t, text, edited.Find("textarea[name=yaml]").Text())
	assert.Contains(t, words(edited, "[data-part=check]"), "combinations6 ")
	broken := b.page("/campaigns/new?" + url.Values{"yaml": {strings.Replace(text, "seed: 5", "sede: 5", 1)}}.Encode())
	assert.Contains(t, words(broken, ".problems"), "line 2: sede")
	assert.Equal(t, http.StatusBadRequest, b.get("/campaigns/new?yaml="+strings.Repeat("x", 20_000)).code)

	form := url.Values{"yaml": {doc.Find("input[name=yaml]").AttrOr("value", "")}}
	assert.Equal(t, http.StatusForbidden, b.post("/campaigns", form).code, "without the secret of the page")
	form.Set("csrf", csrf(doc))
	submitted := b.post("/campaigns", form)
	require.Equal(t, http.StatusSeeOther, submitted.code, submitted.text)
	one := b.page(submitted.header.Get("Location"))
	assert.Contains(t, words(one, "h1"), "mine")
	again, ok := one.Find("a[href*='/campaigns/new?yaml']").Attr("href")
	require.True(t, ok)
	assert.Contains(t, words(b.page(again), "[data-part=check]"), "combinations6 ")
	form.Set("yaml", "name: x\n")
	assert.Equal(t, http.StatusBadRequest, b.post("/campaigns", form).code)
}

// Whoever may not submit sees what a campaign would be.
func TestNewCampaignOfAViewer(t *testing.T) {
	s, tokenOf := guarded(t)
	b := s.browser()
	require.Equal(t, http.StatusSeeOther,
		b.post("/login", url.Values{"token": {tokenOf(misstepv1.Role_ROLE_VIEWER, "")}}).code)
	doc := b.page("/campaigns/new?name=x&trials=1&jdk=jdk9&workload=w")
	assert.Contains(t, words(doc, ".problems"), "unknown JDK", "the catalogue has none")
	doc = b.page("/campaigns/new?name=x&trials=1")
	assert.Contains(t, words(doc, ".problems"), "jdks")
	assert.Equal(t, http.StatusForbidden, b.post("/campaigns", url.Values{"csrf": {csrf(doc)}, "yaml": {"name: x"}}).code)
}

func typeACampaign(t *testing.T, s *scene, tab *browser.Tab) {
	const part = `document.querySelector("[data-part=check]").textContent`
	tab.Visit("/campaigns/new")
	examine(t, tab, "draft-new")
	tab.Do(chromedp.Click(chromedp.CSS("input[name=jdk]")))
	tab.Await(part + `.includes("What is wrong")`)
	tab.Do(chromedp.SendKeys(chromedp.CSS("input[name=name]"), "typed"), chromedp.Click(chromedp.CSS("input[name=workload]")))
	tab.Await(part + `.includes("What it does")`)
	assert.Contains(t, tab.At(), "name=typed", "the address is that of what was typed")
	examine(t, tab, "draft")
	tab.Do(chromedp.SendKeys(chromedp.CSS("input[name=time]"), "soon"))
	tab.Await(part + `.includes("expected a time")`)
	examine(t, tab, "draft-wrong")
	tab.Do(chromedp.SendKeys(chromedp.CSS("input[name=time]"), "\b\b\b\b30m"))
	tab.Await(part + `.includes("What it does")`)
	assert.Equal(t, http.StatusOK, tab.Follow(chromedp.Click(chromedp.CSS(`[data-part=check] a[href^="?yaml"]`))))
	examine(t, tab, "draft-yaml")
	assert.Equal(t, http.StatusOK, tab.Follow(chromedp.Click(chromedp.CSS(`form[action="/campaigns"] button`))))
	assert.Contains(t, browser.Eval[string](tab, `document.querySelector("h1").textContent`), "typed")
	_, err := s.st.StopCampaign(t.Context(), &misstepv1.StopCampaignRequest{
		CampaignId: strings.TrimPrefix(tab.At(), "/campaigns/"),
	})
	require.NoError(t, err)
}
