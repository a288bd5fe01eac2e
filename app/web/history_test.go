package web_test

import (
	"context"
	"encoding/csv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/app/web"
	misstepv1 "misstep/proto/misstep/v1"
)

// aged is a connection to a coordinator whose trials ran on seven days.
type aged struct{ grpc.ClientConnInterface }

func (c aged) Invoke(ctx context.Context, method string, in, out any, options ...grpc.CallOption) error {
	history := &misstepv1.History{
		Begin: timestamppb.New(time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)), Width: durationpb.New(24 * time.Hour),
		Trials: []uint64{500, 0, 4000, 3500, 4100, 4000, 2000}, Hits: []uint64{12, 0, 70, 0, 1, 90, 60},
		Found: []uint64{2, 0, 1, 0, 0, 1, 0},
	}
	if err := c.ClientConnInterface.Invoke(ctx, method, in, out, options...); err != nil {
		return err
	}
	switch m := out.(type) {
	case *misstepv1.GetFindingResponse:
		m.GetFinding().History = history
	case *misstepv1.ListFindingsResponse:
		for _, f := range m.GetFindings() {
			f.History = history
		}
	case *misstepv1.ListBugsResponse:
		m.History = history
		for _, b := range m.GetBugs() {
			b.History = history
		}
	}
	return nil
}

func onAged(o *web.Options) { o.Conn = aged{o.Conn} }

func TestHistoryOnPages(t *testing.T) {
	s := newScene(t, onAged)
	s.run(100, usual()...)
	const text = "233 hits in 5 of 7 periods of 1 day since 2026-11-20, at most 90 in one"
	for _, path := range []string{"/findings", "/findings?by=finding"} {
		doc := s.page(path)
		row := doc.Find("table.list tbody tr").First()
		assert.Equal(t, text, row.Find("svg.spark").AttrOr("aria-label", ""), path)
		assert.Equal(t, 5, row.Find("svg.spark rect").Length(), path)
		rows, err := csv.NewReader(strings.NewReader(s.get(strings.Replace(path, "/findings", "/findings.csv", 1)).text)).ReadAll()
		require.NoError(t, err)
		last := len(rows[0])
		assert.Equal(t, []string{"history begin", "period seconds", "hits by period", "trials by period"}, rows[0][last-4:])
		assert.Equal(t, []string{"2026-11-20T00:00:00Z", "86400", "12 0 70 0 1 90 60", "500 0 4000 3500 4100 4000 2000"},
			rows[1][last-4:])
	}

	doc := s.page(s.findingOf("Both"))
	assert.Contains(t, words(doc, "[data-part=history] p"), "per day")
	assert.Equal(t, 6, doc.Find("svg.timeline circle").Length(), "a day without trials has no rate")
	assert.Equal(t, "2026-11-25 90 of 4 000 2.2 % 1.8 %–2.8 %", words(doc, "[data-part=history] tbody tr:nth-child(5)"))

	link := doc.Find("[data-part=history] a").AttrOr("href", "")
	assert.Equal(t, s.findingOf("Both")+"/history.csv", link)
	rows, err := csv.NewReader(strings.NewReader(s.get(link).text)).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 8, "also the day without trials")
	assert.Equal(t, []string{"since", "period seconds", "hits", "trials", "low", "high"}, rows[0])
	assert.Equal(t, []string{"2026-11-25T00:00:00Z", "86400", "90", "4000", "0.0183417", "0.0275746"}, rows[6])
	assert.Equal(t, 6, s.page(strings.TrimSuffix(link, ".csv")).Find("svg.timeline circle").Length())

	doc = s.page("/")
	assert.Equal(t, "Over time, per day since 2026-11-20", words(doc, "[data-part=history] h2"))
	assert.Equal(t, "4 new findings in 3 of 7 periods of 1 day since 2026-11-20, at most 2 in one",
		doc.Find("[data-part=history] svg").First().AttrOr("aria-label", ""))
	assert.Contains(t, s.get("/overview.json").text, `"found"`)
}

// What the coordinator counts arrives on the pages.
func TestHistoryOfTrials(t *testing.T) {
	assert.Zero(t, newScene(t).page("/").Find("[data-part=history]").Length(), "no trials")
	s := newScene(t)
	s.run(100, usual()...)
	assert.Contains(t, s.page("/").Find("[data-part=history] svg").First().AttrOr("aria-label", ""), "3 new findings in ")
	assert.Equal(t, 3, s.page("/findings").Find("svg.spark").Length())
	found, err := s.st.ListFindings(t.Context(), &misstepv1.ListFindingsRequest{})
	require.NoError(t, err)
	for _, f := range found.GetFindings() {
		sum := uint64(0)
		for _, n := range f.GetHistory().GetHits() {
			sum += n
		}
		assert.Equal(t, f.GetHits(), sum)
	}
}
