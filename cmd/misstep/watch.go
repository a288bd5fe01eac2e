package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"misstep/app/station"
	misstepv1 "misstep/proto/misstep/v1"
)

// lineInterval is how often progress gets a line in a log.
const lineInterval = 10 * time.Second

// watch shows a campaign's progress until it has ended: a bar on a terminal, a line every ten seconds elsewhere.
func watch(ctx context.Context, w io.Writer, st *station.Station, id string) error {
	var show display
	if onTerminal(w) {
		show = newBar(direct(w))
	} else {
		show = &lines{w: w}
	}
	defer show.end()
	rates := rate{}
	return station.WatchCampaign(ctx, st, id, func(s *misstepv1.CampaignStatus) {
		now := time.Now()
		rates.see(now, s)
		show.update(now, s, rates)
	})
}

// rate measures checks a second over the last seconds, by kind.
type rate struct {
	at     time.Time
	totals map[string]uint64
	perSec map[string]float64
}

func (r *rate) see(now time.Time, s *misstepv1.CampaignStatus) {
	since := now.Sub(r.at).Seconds()
	if !r.at.IsZero() && since < 3 {
		return
	}
	totals, perSec := map[string]uint64{}, map[string]float64{}
	for _, c := range s.GetChecks() {
		name, total := c.GetCheck(), c.GetTotal()
		totals[name] = total
		if before := r.totals[name]; !r.at.IsZero() && total >= before { // it decreases when a trial is lost
			perSec[name] = float64(total-before) / since
		}
	}
	r.at, r.totals, r.perSec = now, totals, perSec
}

// portion is how much of its budget the campaign has used, in [0, 1], and the time left (0: unknown). Nothing is left of one that
// has ended, whatever its budget was, or of which all planned trials are over.
func portion(now time.Time, s *misstepv1.CampaignStatus) (float64, time.Duration) {
	planned := s.GetPlanned() > 0 && station.Finished(s)+s.GetFailed() >= s.GetPlanned()
	if planned || s.GetState() == misstepv1.CampaignState_CAMPAIGN_STATE_DONE {
		return 1, 0
	}
	done := 0.0
	var left time.Duration
	elapsed := now.Sub(s.GetSubmitted().AsTime())
	if s.GetPlanned() > 0 {
		done = float64(station.Finished(s)+s.GetFailed()) / float64(s.GetPlanned())
		if done > 0 {
			left = time.Duration(float64(elapsed) * (1 - done) / done)
		}
	}
	if budget := s.GetCampaign().GetBudget().GetTime().AsDuration(); budget > 0 {
		if byTime := elapsed.Seconds() / budget.Seconds(); byTime > done {
			done, left = byTime, budget-elapsed
		} else if left == 0 || budget-elapsed < left {
			left = budget - elapsed
		}
	}
	return min(done, 1), max(left, 0)
}

// wholePercent rounds a part down, so that only what is done is 100 %.
func wholePercent(done float64) int { return int(100 * done) }

// eta is the time left in words.
func eta(left time.Duration) string { return "ETA " + left.Round(time.Second).String() }

type display interface {
	update(time.Time, *misstepv1.CampaignStatus, rate)
	end()
}

// lines prints plain lines for a log.
type lines struct {
	w    io.Writer
	last time.Time
	text string
}

func (l *lines) update(now time.Time, s *misstepv1.CampaignStatus, r rate) {
	done, left := portion(now, s)
	l.text = fmt.Sprintf("%3d %%  %s  %s", wholePercent(done), progressLine(s, r), eta(left))
	if now.Sub(l.last) >= lineInterval {
		l.last = now
		fmt.Fprintln(l.w, l.text)
	}
}

func (l *lines) end() { fmt.Fprintln(l.w, l.text) }

// progressLine is one line with trials, checks per second by kind with their verdicts, and findings.
func progressLine(s *misstepv1.CampaignStatus, r rate) string {
	parts := []string{fmt.Sprintf("trials %d done %d running", station.Finished(s), s.GetRunning())}
	for _, c := range s.GetChecks() {
		verdicts := []string{short(c.GetMatch()) + " match"}
		for _, verdict := range []struct {
			name  string
			count uint64
		}{
			{"tolerated", total(c.GetTolerated())},
			{"mismatch", c.GetMismatch()},
			{"unwalkable", total(c.GetUnwalkable())},
			{"void", total(c.GetVoid())},
		} {
			if verdict.count > 0 {
				verdicts = append(verdicts, short(verdict.count)+" "+verdict.name)
			}
		}
		parts = append(parts, fmt.Sprintf("%s %s/s (%s)", c.GetCheck(), short(uint64(r.perSec[c.GetCheck()])),
			strings.Join(verdicts, ", ")))
	}
	return strings.Join(append(parts, fmt.Sprintf("findings %d", len(s.GetFindingIds()))), " | ")
}

// total adds up counts by name or code.
func total[K comparable](counts map[K]uint64) (n uint64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// short writes a count in at most five characters: 12345 is 12.3k.
func short(n uint64) string {
	switch {
	case n < 10_000:
		return fmt.Sprint(n)
	case n < 10_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	default:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	}
}

// bar is the display on a terminal.
type bar struct {
	progress *mpb.Progress
	bar      *mpb.Bar
	text     string
	left     time.Duration
	done     bool
}

func newBar(w io.Writer) *bar {
	b := &bar{progress: mpb.New(mpb.WithOutput(w), mpb.WithWidth(24), mpb.WithRefreshRate(station.PollInterval))}
	b.bar = b.progress.AddBar(1000,
		mpb.AppendDecorators(
			decor.Any(func(st decor.Statistics) string { return fmt.Sprintf("%4d %%", wholePercent(float64(st.Current)/1000)) }),
			decor.Any(func(decor.Statistics) string { return "  " + eta(b.left) + "  " }),
			decor.Any(func(decor.Statistics) string { return b.text })))
	return b
}

func (b *bar) update(now time.Time, s *misstepv1.CampaignStatus, r rate) {
	done, left := portion(now, s)
	b.text, b.left, b.done = printable(progressLine(s, r)), left, done == 1
	b.bar.SetCurrent(int64(min(done, 0.999) * 1000))
}

// end completes the bar of a campaign that is done; that of another one, which was interrupted, stays as it is.
func (b *bar) end() {
	if b.done {
		b.bar.SetCurrent(1000)
	} else {
		b.bar.Abort(false)
	}
	b.progress.Wait()
}
