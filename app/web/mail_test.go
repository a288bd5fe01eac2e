package web_test

import (
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/web"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/sim"
)

// A page to mail has the stacks and how to repeat them, and nothing of the place where it was made.
func TestAFindingAsOneFile(t *testing.T) {
	s := newScene(t)
	s.run(200, usual()...)
	all, err := s.st.ListFindings(t.Context(), &misstepv1.ListFindingsRequest{})
	require.NoError(t, err)
	require.NotEmpty(t, all.GetFindings())
	for _, f := range all.GetFindings() {
		page, err := web.New(web.Options{Conn: s.st.Conn, Place: "--dir hunt-sim", Writable: true}).Mail(t.Context(), f.GetId())
		require.NoError(t, err)
		doc, err := goquery.NewDocumentFromReader(strings.NewReader(string(page)))
		require.NoError(t, err)
		assert.Zero(t, doc.Find("a, form, script, link, img, iframe, [src], [href]").Length(), "it refers to nothing")
		assert.Regexp(t, `^\d{4}-\d\d-\d\d`, doc.Find("time").First().Text(), "times are dates")
		text := doc.Text()
		assert.Contains(t, words(doc, "h1"), f.GetId())
		assert.Contains(t, text, f.GetId()+"/run.sh /path/to/jdk")
		assert.Contains(t, doc.Find("style").Text(), "--", "it has its style")
		for _, place := range []string{"hunt-sim", s.campaign, "Evidence", "Decisions"} {
			assert.NotContains(t, text, place)
		}
		if f.GetExample() != nil && len(f.GetExample().GetMismatches()) > 0 {
			assert.NotZero(t, doc.Find("table.stacks tbody tr").Length())
		}
		if f.GetKnownAs() != "" {
			assert.Contains(t, words(doc, "[data-part=facts]"), f.GetKnownAs()+": ", "the cause is told")
		}
	}
	_, err = web.New(web.Options{Conn: s.st.Conn}).Mail(t.Context(), "F000000000000")
	require.ErrorContains(t, err, "F000000000000")
}

// What a hostile program calls its methods stays text.
func TestAFindingAsOneFileOfAHostileProgram(t *testing.T) {
	s := newScene(t)
	s.run(20, sim.Event{Rate: 1, Outcome: hostile})
	all, err := s.st.ListFindings(t.Context(), &misstepv1.ListFindingsRequest{})
	require.NoError(t, err)
	require.NotEmpty(t, all.GetFindings())
	for _, f := range all.GetFindings() {
		page, err := web.New(web.Options{Conn: s.st.Conn}).Mail(t.Context(), f.GetId())
		require.NoError(t, err)
		doc, err := goquery.NewDocumentFromReader(strings.NewReader(string(page)))
		require.NoError(t, err)
		assert.Zero(t, doc.Find("script, img").Length())
		assert.Contains(t, doc.Text(), "<script>alert(1)</script>")
	}
}

// What changes the direction of text is visible there, too.
func TestAFindingAsOneFileTurnsNoText(t *testing.T) {
	s := newScene(t)
	s.run(20, sim.Event{Rate: 1, Outcome: bug("a\u202egnp.exe")})
	all, err := s.st.ListFindings(t.Context(), &misstepv1.ListFindingsRequest{})
	require.NoError(t, err)
	require.NotEmpty(t, all.GetFindings())
	page, err := web.New(web.Options{Conn: s.st.Conn}).Mail(t.Context(), all.GetFindings()[0].GetId())
	require.NoError(t, err)
	assert.NotContains(t, string(page), "\u202e")
	assert.Contains(t, string(page), `a\u202egnp.exe`)
}
