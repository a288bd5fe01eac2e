package web

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/internal/interval"
	misstepv1 "misstep/proto/misstep/v1"
)

// historyPage shows a finding over time.
type historyPage struct {
	*misstepv1.Finding
	Timeline timeline
}

func (s *Site) history(r *http.Request) (*page, error) {
	response, err := s.admin.GetFinding(r.Context(), &misstepv1.GetFindingRequest{FindingId: r.PathValue("id")})
	if err != nil {
		return nil, err
	}
	f := response.GetFinding()
	h := f.GetHistory()
	rows := [][]string{{"since", "period seconds", "hits", "trials", "low", "high"}}
	for i, trials := range h.GetTrials() {
		low, high := interval.Wilson(h.GetHits()[i], trials)
		rows = append(rows, []string{
			stamp(timestamppb.New(periodAt(h, i))), number(int(h.GetWidth().GetSeconds())), number(h.GetHits()[i]), number(trials),
			decimal(low), decimal(high),
		})
	}
	return &page{
		template: "history", title: f.GetId() + " over time", data: historyPage{f, timelineOf(h)}, json: h, csv: rows, live: true,
	}, nil
}

// spark is a small chart of counts by period.
type spark struct {
	Width, Height float64
	Bars          []box
	Most          uint64
	// Text says what it shows.
	Text string
}

// box is a bar of a chart, with what it stands for.
type box struct {
	X, Y, Width, Height float64
	Title               string
}

// sparkHeight and sparkStep are the height of a small chart, and the width of one of its periods, in pixels.
const (
	sparkHeight = 18
	sparkStep   = 4
)

// sparkOf draws the hits of a history.
func sparkOf(h *misstepv1.History) spark { return sparkOfCounts(h, h.GetHits(), "hit") }

// sparkOfCounts draws counts by period of a history, which count things with that name.
func sparkOfCounts(h *misstepv1.History, counts []uint64, noun string) spark {
	if len(counts) == 0 {
		return spark{}
	}
	s := spark{Width: sparkStep * float64(len(counts)), Height: sparkHeight, Most: slices.Max(counts)}
	sum, with := uint64(0), 0
	for i, n := range counts {
		if n == 0 {
			continue
		}
		sum, with = sum+n, with+1
		height := max(1, math.Round(10*sparkHeight*float64(n)/float64(s.Most))/10)
		s.Bars = append(s.Bars, box{
			X: sparkStep * float64(i), Y: sparkHeight - height, Width: sparkStep - 1, Height: height,
			Title: fmt.Sprintf("%s: %s", periodBegin(h, i), plural(n, noun)),
		})
	}
	s.Text = fmt.Sprintf("%s in %d of %s of %s since %s, at most %s in one", plural(sum, noun), with,
		plural(len(counts), "period"), widthText(h), periodBegin(h, 0), count(s.Most))
	return s
}

// widthText is the length of a history's periods.
func widthText(h *misstepv1.History) string {
	const day = 24 * time.Hour
	switch d := h.GetWidth().AsDuration(); {
	case d%(7*day) == 0:
		return plural(int(d/(7*day)), "week")
	case d%day == 0:
		return plural(int(d/day), "day")
	case d%time.Hour == 0:
		return plural(int(d/time.Hour), "hour")
	default:
		return plural(int(d/time.Minute), "minute")
	}
}

// each is the length of a history's periods as in "hits per day", "hits per 6 hours".
func each(h *misstepv1.History) string { return "per " + strings.TrimPrefix(widthText(h), "1 ") }

// periodAt is the time at which a period of a history begins.
func periodAt(h *misstepv1.History, i int) time.Time {
	return h.GetBegin().AsTime().Add(time.Duration(i) * h.GetWidth().AsDuration())
}

// periodBegin is when a period of a history begins.
func periodBegin(h *misstepv1.History, i int) string {
	format := "2006-01-02 15:04 UTC"
	if h.GetWidth().AsDuration() >= 24*time.Hour {
		format = time.DateOnly
	}
	return periodAt(h, i).Format(format)
}

// cellsOfHistory are the cells of a history in CSV.
func cellsOfHistory(h *misstepv1.History) []string {
	list := func(counts []uint64) string { return strings.Trim(fmt.Sprint(counts), "[]") }
	return []string{stamp(h.GetBegin()), number(int(h.GetWidth().GetSeconds())), list(h.GetHits()), list(h.GetTrials())}
}

// series is a small chart with a name.
type series struct {
	Name  string
	Chart spark
}

// timeline is a chart of rates by period, with their 95 % intervals, above one of the trials.
type timeline struct {
	Each          string
	Width, Height float64
	// Left and Bottom are where the axes are, Base is that of the trials.
	Left, Bottom, Base float64
	// Rows are the periods with trials; Ticks have the height as X.
	Rows  []timelineRow
	Ticks []tick
	// First and Last are the begins of the first and the last period.
	First, Last string
}

// timelineRow is a period with its rate.
type timelineRow struct {
	*misstepv1.FindingRate
	Begin string
	// X of its middle; heights of the rate and its interval; and the bar of its trials.
	X, LowY, HighY, At float64
	Bar                box
}

// timelineOf draws a history of more than one period.
func timelineOf(h *misstepv1.History) timeline {
	const left, plot, gap, trials = 60, 120, 12, 32
	n := len(h.GetTrials())
	if n < 2 {
		return timeline{}
	}
	width := float64(min(max(40*n, 280), 640)) // with room for the first and the last date
	c := timeline{
		Each: each(h), Left: left, Bottom: plot + gap, Base: plot + 2*gap + trials, Width: left + width,
		Height: plot + 2*gap + trials + 20, First: periodBegin(h, 0), Last: periodBegin(h, n-1),
	}
	step := width / float64(n)
	most := 0.0
	for i, tried := range h.GetTrials() {
		if tried == 0 {
			continue
		}
		low, high := interval.Wilson(h.GetHits()[i], tried)
		most = max(most, high)
		c.Rows = append(c.Rows, timelineRow{
			FindingRate: &misstepv1.FindingRate{Hits: h.GetHits()[i], Trials: tried, Low: low, High: high},
			Begin:       periodBegin(h, i), X: math.Round(left + step*(float64(i)+0.5)),
		})
	}
	if most == 0 {
		return timeline{}
	}
	spacing := niceStep(most / 3)
	most = math.Ceil(most/spacing-1e-9) * spacing
	y := func(share float64) float64 { return math.Round(10*(gap+plot*(1-share/most))) / 10 }
	for at := 0.0; at <= most+spacing/2; at += spacing {
		c.Ticks = append(c.Ticks, tick{y(at), share(at)})
	}
	largest := float64(slices.Max(h.GetTrials()))
	for i := range c.Rows {
		r := &c.Rows[i]
		r.LowY, r.HighY, r.At = y(r.GetLow()), y(r.GetHigh()), y(float64(r.GetHits())/float64(r.GetTrials()))
		height := max(1, math.Round(10*trials*float64(r.GetTrials())/largest)/10)
		r.Bar = box{X: r.X - 8, Y: c.Base - height, Width: 16, Height: height}
	}
	return c
}
