package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/web"
	misstepv1 "misstep/proto/misstep/v1"
)

// Notes and labels are on the page of a finding with who made them and when, and are taken back there.
func TestNotesAndLabels(t *testing.T) {
	s := newScene(t, func(o *web.Options) { o.Writable = true })
	s.run(200, usual()...)
	path := s.findingOf("Both")
	b := s.browser()
	secret := csrf(b.page(path))
	send := func(to string, form url.Values) *goquery.Document {
		t.Helper()
		form.Set("csrf", secret)
		a := b.post(to, form)
		require.Equal(t, http.StatusSeeOther, a.code, a.text)
		assert.Equal(t, path, a.header.Get("Location"))
		return b.page(path)
	}
	decided := func(doc *goquery.Document) string { return words(doc, "[data-part=decisions]") }

	doc := send(path+"/note", url.Values{"text": {" seen with <b>Lucene</b>, too "}})
	assert.Regexp(t, `seen with <b>Lucene</b>, too local, \d+ (s|min) ago Undo decision 1`, decided(doc))
	doc = send("/decisions/1/undo", url.Values{})
	assert.Contains(t, decided(doc), "undone by local")
	assert.Equal(t, http.StatusBadRequest, b.post(path+"/note", url.Values{"csrf": {secret}, "text": {" "}}).code)

	known := func() []*misstepv1.KnownBug {
		r, err := s.st.ListKnownBugs(t.Context(), &misstepv1.ListKnownBugsRequest{})
		require.NoError(t, err)
		return r.GetBugs()
	}
	doc = send(path+"/label", url.Values{"bug": {"OWN-1"}})
	assert.Contains(t, words(doc, "[data-part=facts]"), "known as OWN-1")
	assert.Regexp(t, `Known as OWN-1 local, \d+ (s|min) ago Not OWN-1`, decided(doc))
	require.Len(t, known(), 1)
	assert.Equal(t, "local", known()[0].GetAddedBy())
	assert.NotContains(t, words(b.page(s.findingOf("Only17")), "[data-part=facts]"), "OWN-1", "another finding")

	// A second finding is the same bug; then neither is.
	other := s.findingOf("Only17")
	require.Equal(t, http.StatusSeeOther, b.post(other+"/label", url.Values{"csrf": {secret}, "bug": {"OWN-1"}}).code)
	assert.Len(t, known()[0].GetMatches(), 2)
	doc = send(path+"/unlabel", url.Values{"bug": {"OWN-1"}})
	assert.NotContains(t, words(doc, "[data-part=facts]"), "known as")
	assert.Len(t, known()[0].GetMatches(), 1)
	assert.Equal(t, http.StatusNotFound, b.post(path+"/unlabel", url.Values{"csrf": {secret}, "bug": {"OWN-1"}}).code)
	require.Equal(t, http.StatusSeeOther, b.post(other+"/unlabel", url.Values{"csrf": {secret}, "bug": {"OWN-1"}}).code)
	assert.Empty(t, known())

	// An entry of the built-in catalogue keeps what it knows.
	doc = send(path+"/label", url.Values{"bug": {"JDK-8303444"}})
	assert.Contains(t, words(doc, "[data-part=facts]"), "known as JDK-8303444")
	assert.Greater(t, len(known()[0].GetMatches()), 1)
	send(path+"/unlabel", url.Values{"bug": {"JDK-8303444"}})
	assert.Empty(t, known(), "what is left is the built-in entry")

	for bug, want := range map[string]string{
		"": "expected an id", "two words": "expected an id", strings.Repeat("x", 101): "at most 100 bytes",
	} {
		a := b.post(path+"/label", url.Values{"csrf": {secret}, "bug": {bug}})
		assert.Equal(t, http.StatusBadRequest, a.code, "%.20s", bug)
		assert.Contains(t, a.text, want)
	}
}
