package web_test

import (
	"encoding/csv"
	"net/http"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/web"
	"misstep/runner/sim"
)

// Which frames of two findings differ is a page, which the page of each links to, and from which they are merged.
func TestCompare(t *testing.T) {
	s := newScene(t, func(o *web.Options) { o.Writable = true })
	s.run(300, append(usual(), sim.Event{Rate: 0.05, Outcome: hostile})...)
	from, into := s.findingOf("Only17"), strings.TrimPrefix(s.findingOf("Both"), "/findings/")
	path := from + "/compare/" + into
	assert.Equal(t, 1, s.page(from).Find(`a[href="`+path+`"]`).Length(), "Both is among the nearest")
	doc := s.page(path)
	var titles []string
	doc.Find("section h2").Each(func(_ int, h *goquery.Selection) { titles = append(titles, h.Text()) })
	assert.Equal(t, []string{"Stacks of gst", "Stacks of asgct", "Identity", "Recipe of the example", "Are they one bug?"}, titles)
	stacks := doc.Find("table.stacks").First()
	assert.Equal(t, 2, stacks.Find("tr.left").Length(), "callee and caller of Only17")
	assert.Equal(t, 2, stacks.Find("tr.right").Length())
	main := stacks.Find("tr:contains('sim.Main.main')")
	assert.Empty(t, main.AttrOr("class", ""), "main is common to both")
	assert.Contains(t, words(doc, "main"), "4 of 5 lines differ")

	rows, err := csv.NewReader(strings.NewReader(s.get(path + ".csv").text)).ReadAll()
	require.NoError(t, err)
	assert.Contains(t, rows, []string{"stack", "gst", "only left", "sim.Only17.callee @3", ""})
	assert.Contains(t, s.get(path+".json").text, `"side": "gst"`)
	assert.Contains(t, words(s.page(from+"/compare/"+strings.TrimPrefix(from, "/findings/")), ".verdict"), "the same stacks")
	assert.Equal(t, http.StatusNotFound, s.get(from+"/compare/Fffffffffffff").code)

	assert.Equal(t, http.StatusOK, s.get(from+"/compare/"+strings.TrimPrefix(s.findingOf("<script>"), "/findings/")).code)
	form := doc.Find("form[action$=merge]")
	merged := s.browser().post(form.AttrOr("action", ""), map[string][]string{
		"csrf": {csrf(doc)}, "into": {form.Find("[name=into]").AttrOr("value", "")}, "reason": {"the same"},
	})
	assert.Equal(t, http.StatusSeeOther, merged.code, merged.text)
	assert.Equal(t, "/findings/"+into, merged.header.Get("Location"))
}
