package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/metadata"

	"misstep/app/station"
	"misstep/app/web"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/sim"
)

// People who may do the same get the same text, with each one's own name and forms.
func TestPagesAreMadeOnceForEquals(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	fill := newSceneAt(t, station.Place{Dir: dir})
	fill.run(50, sim.Event{Rate: 1, Outcome: bug("Shown")})
	found, err := fill.st.ListFindings(t.Context(), &misstepv1.ListFindingsRequest{})
	require.NoError(t, err)
	path := "/findings/" + found.GetFindings()[0].GetId()
	fill.st.Close()

	s, tokenOf := guardedAt(t, dir, func(o *web.Options) { o.Clock = func() time.Time { return now } })
	enter := func(name string, role misstepv1.Role) *scene {
		b := s.browser()
		require.Equal(t, http.StatusSeeOther, b.post("/login", url.Values{"token": {tokenOf(role, "", name)}}).code)
		return b
	}
	type own struct{ text, csrf string }
	get := func(b *scene) own {
		text := b.get(path).text
		doc, err := goquery.NewDocumentFromReader(strings.NewReader(text))
		require.NoError(t, err)
		csrf, there := doc.Find(`form input[name="csrf"]`).First().Attr("value")
		require.True(t, there)
		return own{text, csrf}
	}
	tina, toni := enter("tina", misstepv1.Role_ROLE_TRIAGER), enter("toni", misstepv1.Role_ROLE_TRIAGER)
	vera := enter("vera", misstepv1.Role_ROLE_VIEWER)
	first := get(tina)
	note := url.Values{"csrf": {first.csrf}, "text": {"seen on Tuesday"}}
	second := get(toni)
	assert.NotEqual(t, first.csrf, second.csrf)
	assert.Contains(t, first.text, "token tina")
	assert.Equal(t, strings.NewReplacer("token tina", "token toni", first.csrf, second.csrf).Replace(first.text), second.text)
	assert.NotContains(t, get(vera).text, path+"/note", "who may do less gets another text")
	assert.Contains(t, second.text, path+"/note")

	assert.Equal(t, http.StatusForbidden, toni.post(path+"/note", note).code, "another's form")
	require.Equal(t, http.StatusSeeOther, tina.post(path+"/note", note).code)
	for _, b := range []*scene{tina, toni, vera} {
		assert.Contains(t, get(b).text, "seen on Tuesday", "what was done on a page is seen at once")
	}
	elsewhere := metadata.AppendToOutgoingContext(t.Context(), "authorization",
		"Bearer "+tokenOf(misstepv1.Role_ROLE_TRIAGER, "", "w"))
	_, err = s.st.NoteFinding(elsewhere, &misstepv1.NoteFindingRequest{
		FindingId: found.GetFindings()[0].GetId(), Text: "seen on Wednesday",
	})
	require.NoError(t, err)
	assert.NotContains(t, get(toni).text, "Wednesday", "the text is the last one")
	now = now.Add(time.Minute)
	assert.Contains(t, get(toni).text, "Wednesday")
}
