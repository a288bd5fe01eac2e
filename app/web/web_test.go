package web_test

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
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

func TestOverview(t *testing.T) {
	var ahead time.Duration
	s := newScene(t, func(o *web.Options) { o.Clock = func() time.Time { return time.Now().Add(ahead) } })
	assert.Contains(t, words(s.page("/"), ".verdict"), "nothing has run")
	s.run(200, usual()...)
	ahead = time.Minute // nothing is kept for longer
	doc := s.page("/")
	assert.Contains(t, words(doc, ".verdict.good"), "The last campaign ended")
	assert.Contains(t, words(doc, "[data-part=ended] tbody tr"), "sim done")
	assert.Equal(t, 3, doc.Find("[data-part=new] li").Length(), "two mismatches and a crash")
	assert.Contains(t, words(doc, "[data-part=new]"), "sim.Both.callee")

	waiting := newScene(t)
	waiting.submit(10)
	assert.Contains(t, words(waiting.page("/"), ".verdict.bad"), "no runner calls")
}

// A campaign whose trials prove nothing is seen at once.
func TestACampaignThatProvesNothing(t *testing.T) {
	s := newScene(t)
	s.run(20, sim.Event{Rate: 1, Outcome: sim.Of(misstepv1.OutcomeKind_OUTCOME_KIND_VOID, "check gst-asgct did nothing")})
	assert.Contains(t, words(s.page("/"), ".verdict.bad"), "no trial of the last campaign proved anything")
}

func TestFilters(t *testing.T) {
	s := newScene(t)
	s.run(200, usual()...)
	rows := func(query string) []string {
		var ids []string
		s.page("/findings" + query).Find("table.list tbody th").Each(func(_ int, cell *goquery.Selection) {
			ids = append(ids, strings.TrimSpace(cell.Text()))
		})
		return ids
	}
	all := rows("")
	require.Len(t, all, 3)
	assert.Len(t, rows("?kind=crash"), 1)
	assert.Len(t, rows("?kind=mismatch&by=finding"), 2)
	assert.Len(t, rows("?jdk=9"), 2, "one is on 17 only")
	assert.Empty(t, rows("?state=quiet"))
	assert.Len(t, rows("?since=24h&campaign="+s.campaign), 3)
	assert.Equal(t, all[:1], rows("?bug="+all[0]))
	byHits := rows("?sort=hits&kind=mismatch")
	doc := s.page("/findings?sort=hits&kind=mismatch")
	assert.Contains(t, words(doc, "table.list tbody tr:first-child"), byHits[0])
	assert.Equal(t, "hits", doc.Find("select[name=sort] option[selected]").AttrOr("value", ""), "the form shows what was asked for")

	for query, want := range map[string]string{
		"?kind=crahs": "crash", "?since=yesterday": "24h", "?by=colour": "bug or finding", "?campaign=Cx": "campaign",
		"?sort=luck": "sort", "?page_size=0": "page_size",
	} {
		a := s.get("/findings" + query)
		assert.Contains(t, []int{http.StatusBadRequest, http.StatusNotFound}, a.code, query)
		assert.Contains(t, a.text, want, query)
	}
	one := s.page("/findings?page_size=1")
	assert.Equal(t, 1, one.Find("table.list tbody tr").Length())
	next, ok := one.Find(".pages a[rel=next]").Attr("href")
	require.True(t, ok)
	assert.Equal(t, all[1:2], rows(next))
}

func TestMatrix(t *testing.T) {
	s := newScene(t)
	s.run(200, usual()...)
	doc := s.page("/matrix")
	assert.Regexp(t, `jdk9\s*jdk17\s*what$`, words(doc, "thead tr"), "in the order of their numbers")
	text := s.get("/matrix.json").text
	var rows []struct {
		Title string `json:"title"`
		First string `json:"first_affected"`
		ByJDK map[string]struct {
			State        string
			Hits, Trials uint64
			Low, High    float64
		} `json:"by_jdk"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &rows))
	require.Len(t, rows, 3)
	for _, row := range rows {
		on17, on9 := row.ByJDK["jdk17"], row.ByJDK["jdk9"]
		assert.Equal(t, "shown", on17.State)
		assert.Less(t, on17.Low, float64(on17.Hits)/float64(on17.Trials))
		if strings.Contains(row.Title, "Only17") {
			assert.Equal(t, "not shown", on9.State)
			assert.Zero(t, on9.Hits)
			assert.Positive(t, on9.Trials)
			assert.Equal(t, "jdk17", row.First)
		} else {
			assert.Equal(t, "jdk9", row.First)
		}
	}
}

func TestFinding(t *testing.T) {
	s := newScene(t)
	s.run(400, usual()...)
	var both string
	found, err := s.st.ListFindings(t.Context(), &misstepv1.ListFindingsRequest{})
	require.NoError(t, err)
	for _, f := range found.GetFindings() {
		if strings.Contains(f.GetTitle(), "Both") {
			both = f.GetId()
		}
	}
	doc := s.page("/findings/" + both)
	rows := doc.Find("table.stacks tbody tr")
	assert.Equal(t, 3, rows.Length())
	assert.Equal(t, "⇒ only left", words(doc, "table.stacks tr.first td:first-child"))
	assert.Contains(t, rows.Eq(1).Text(), "sim.Both.caller @3")
	assert.Contains(t, rows.First().Text(), "sim.Both.callee @3")
	assert.Contains(t, words(doc, ".command"), "misstep findings bundle "+both+" --dir hunt-sim -o "+both+".zip")
	assert.Contains(t, words(doc, ".forest"), "comp")
	assert.Contains(t, words(doc, ".forest"), "(higher)", "-Xcomp shows it twice as often")
	assert.Equal(t, 4, doc.Find("[data-part=rates] tbody tr").Length(), "two JDKs with two flag sets")

	asJSON := s.get("/findings/" + both + ".json")
	assert.Equal(t, "application/json", asJSON.header.Get("Content-Type"))
	assert.Contains(t, asJSON.text, `"id": "`+both+`"`)
	assert.Equal(t, http.StatusNotFound, s.get("/findings/Fffffffffffff").code)
	assert.Equal(t, http.StatusConflict, s.get("/findings/"+both+"/bundle").code, "nothing to make bundles of")

	crash := s.page(s.page("/findings?kind=crash").Find("table.list tbody th a").AttrOr("href", ""))
	assert.Contains(t, words(crash, ".facts"), "SIGSEGV (0xb)")
	assert.Contains(t, words(crash, "ol.code"), "AsyncGetCallTrace")
}

// Each page is there as HTML, JSON and CSV, has no script or style of its own, and leads nowhere else.
func TestPages(t *testing.T) {
	s := newScene(t)
	s.run(200, usual()...)
	seen := map[string]bool{"/": true}
	for todo := []string{"/"}; len(todo) > 0; {
		path := todo[0]
		todo = todo[1:]
		a := s.get(path)
		require.Equal(t, http.StatusOK, a.code, "%s\n%s", path, a.text)
		if !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
			continue
		}
		doc, err := goquery.NewDocumentFromReader(strings.NewReader(a.text))
		require.NoError(t, err)
		assert.Equal(t, 1, doc.Find("h1").Length(), path)
		assert.Equal(t, 1, doc.Find("script").Length(), path)
		assert.Empty(t, doc.Find("script").Text(), path)
		assert.Zero(t, doc.Find("style, [style], iframe, object, embed").Length(), path)
		for _, n := range doc.Find("*").Nodes {
			for _, attribute := range n.Attr {
				assert.False(t, strings.HasPrefix(attribute.Key, "on"), "%s: %s", path, attribute.Key)
			}
		}
		doc.Find("a").Each(func(_ int, link *goquery.Selection) {
			to, err := url.Parse(link.AttrOr("href", ""))
			require.NoError(t, err)
			if to.IsAbs() {
				assert.Equal(t, "bugs.openjdk.org", to.Host, path)
				return
			}
			next := (&url.URL{Path: to.Path, RawQuery: to.RawQuery}).String()
			if to.Path != "" && !seen[next] {
				seen[next] = true
				todo = append(todo, next)
			}
		})
	}
	for _, path := range []string{"/overview.json", "/findings.csv", "/matrix.csv", "/findings?by=finding"} {
		assert.True(t, seen[path] || s.get(path).code == http.StatusOK, path)
	}
	assert.Greater(t, len(seen), 15)
	rows, err := csv.NewReader(strings.NewReader(s.get("/findings.csv").text)).ReadAll()
	require.NoError(t, err)
	assert.Len(t, rows, 4)
}

// Whatever a JVM calls its threads and classes, a page shows it as text and does nothing.
func TestHostileNames(t *testing.T) {
	s := newScene(t)
	s.run(3, sim.Event{Rate: 1, Outcome: hostile})
	found, err := s.st.ListFindings(t.Context(), &misstepv1.ListFindingsRequest{})
	require.NoError(t, err)
	require.NotEmpty(t, found.GetFindings())
	one := "/findings/" + found.GetFindings()[0].GetId()
	for _, path := range []string{"/", "/findings", "/findings?by=finding", "/matrix", one} {
		doc := s.page(path)
		assert.Zero(t, doc.Find("img").Length(), path)
		assert.Equal(t, 1, doc.Find("script").Length(), path)
		assert.Contains(t, doc.Find("main").Text(), "<script>alert(1)</script>", path)
	}
	for _, name := range []string{"jdk", "kind", "x", "since", "page"} {
		query := "?" + name + "=" + url.QueryEscape(evil)
		a := s.get("/findings" + query)
		assert.NotContains(t, a.text, "<script>alert", query)
		assert.NotContains(t, a.text, "<img", query)
	}
	assert.NotContains(t, s.get("/"+url.PathEscape(evil)).text, "<img")
}

// Pages travel compressed, events do not wait for a compressor.
func TestCompression(t *testing.T) {
	s := newScene(t)
	for path, want := range map[string]string{"/findings": "gzip", "/static/style.css": "gzip", "/events": ""} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.site.URL+path, nil)
		require.NoError(t, err)
		request.Header.Set("Accept-Encoding", "gzip") // the client leaves it as it is then
		response, err := s.client.Do(request)
		require.NoError(t, err)
		assert.Equal(t, want, response.Header.Get("Content-Encoding"), path)
		require.NoError(t, response.Body.Close())
	}
}

func TestHeaders(t *testing.T) {
	s := newScene(t)
	for _, path := range []string{"/", "/nowhere", "/static/live.js", "/findings.json"} {
		h := s.get(path).header
		p := h.Get("Content-Security-Policy")
		assert.Contains(t, p, "default-src 'none'", path)
		assert.Contains(t, p, "frame-ancestors 'none'", path)
		assert.NotContains(t, p, "unsafe", path)
		assert.Equal(t, "nosniff", h.Get("X-Content-Type-Options"), path)
	}
	for _, path := range []string{"/static/style.css", "/static/live.js", "/static/icon.svg"} {
		assert.Equal(t, http.StatusOK, s.get(path).code, path)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.site.URL, nil)
	require.NoError(t, err)
	request.Host = "evil.example.org"
	assert.Equal(t, http.StatusMisdirectedRequest, s.do(request).code, "a name that was made to lead here")

	request, err = http.NewRequestWithContext(t.Context(), http.MethodPost, s.site.URL+"/findings", strings.NewReader("x"))
	require.NoError(t, err)
	request.Header.Set("Sec-Fetch-Site", "cross-site")
	assert.Equal(t, http.StatusForbidden, s.do(request).code, "from another site's page")
}

func TestProjects(t *testing.T) {
	s := newScene(t)
	s.run(100, usual()...)
	doc := s.page("/p/nightly/findings")
	assert.Contains(t, words(doc, "main"), "No findings yet", "they are another project's")
	assert.Contains(t, words(doc, ".who"), "project nightly")
	doc.Find("header a").Each(func(_ int, link *goquery.Selection) {
		assert.True(t, strings.HasPrefix(link.AttrOr("href", ""), "/p/nightly"), link.AttrOr("href", ""))
	})
	assert.Equal(t, http.StatusBadRequest, s.get("/p/a%20b/findings").code)
}

// A page that follows what happens is told when something changed, and only then.
func TestEvents(t *testing.T) {
	s := newScene(t)
	s.submit(10)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.site.URL+"/events", nil)
	require.NoError(t, err)
	response, err := s.site.Client().Do(request) //nolint:bodyclose // closed below
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
	lines := make(chan string, 100)
	go func() {
		for scanner := bufio.NewScanner(response.Body); scanner.Scan(); {
			lines <- scanner.Text()
		}
		close(lines)
	}()
	var before []string
	quiet := time.After(5 * time.Second)
	for waiting := true; waiting; {
		select {
		case line := <-lines:
			before = append(before, line)
		case <-quiet:
			waiting = false
		}
	}
	assert.False(t, slices.Contains(before, "event: changed"), "nothing changed: %v", before)
	_, err = s.st.StopCampaign(t.Context(), &misstepv1.StopCampaignRequest{CampaignId: s.campaign})
	require.NoError(t, err)
	late := time.After(20 * time.Second)
	for {
		select {
		case line := <-lines:
			if line == "event: changed" {
				return
			}
		case <-late:
			t.Fatal("nobody said that the campaign was stopped")
		}
	}
}
