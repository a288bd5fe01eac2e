package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	misstepv1 "misstep/proto/misstep/v1"
)

const (
	pollEvery = 500 * time.Millisecond // how often the state is asked for
	lineEvery = 10 * time.Second       // how often a log gets a line
)

// watch shows a campaign's progress until it has ended: a bar on a terminal, a line every ten seconds elsewhere.
func watch(ctx context.Context, w io.Writer, st *station, id string) error {
	var show display
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		show = newBar(w)
	} else {
		show = &lines{w: w}
	}
	defer show.end()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	rates := rate{}
	for {
		response, err := st.GetCampaign(ctx, &misstepv1.GetCampaignRequest{CampaignId: id})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		s := response.GetCampaign()
		now := time.Now()
		rates.see(now, s)
		show.update(now, s, rates)
		if s.GetState() != misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// rate measures checks a second over the last seconds.
type rate struct {
	at      time.Time
	total   uint64
	perSec  float64
	answers uint64
	asyncPS float64
}

func (r *rate) see(now time.Time, s *misstepv1.CampaignStatus) {
	var total uint64
	for _, c := range s.GetChecks() {
		total += c.GetTotal()
	}
	answers := s.GetSignals().GetAnswered()
	if since := now.Sub(r.at).Seconds(); r.at.IsZero() || since >= 3 {
		if !r.at.IsZero() && total >= r.total && answers >= r.answers {
			r.perSec = float64(total-r.total) / since
			r.asyncPS = float64(answers-r.answers) / since
		}
		r.at, r.total, r.answers = now, total, answers
	}
}

// share says how far the campaign is in its budget, in [0, 1], and how long it still takes (0: unknown).
func share(now time.Time, s *misstepv1.CampaignStatus) (float64, time.Duration) {
	done := 0.0
	var left time.Duration
	elapsed := now.Sub(s.GetSubmitted().AsTime())
	if s.GetPlanned() > 0 {
		done = float64(finished(s)+s.GetFailed()) / float64(s.GetPlanned())
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
	done, left := share(now, s)
	l.text = fmt.Sprintf("%3.0f %%  %s  ETA %v", done*100, progressLine(s, r), left.Round(time.Second))
	if now.Sub(l.last) >= lineEvery {
		l.last = now
		fmt.Fprintln(l.w, l.text)
	}
}

func (l *lines) end() { fmt.Fprintln(l.w, l.text) }

// progressLine tells trials, checks by kind and verdict, and findings.
func progressLine(s *misstepv1.CampaignStatus, r rate) string {
	var parts []string
	for _, c := range s.GetChecks() {
		part := fmt.Sprintf("%s %s", c.GetCheck(), short(c.GetTotal()))
		if c.GetMismatch() > 0 {
			part += fmt.Sprintf(" (%d bad)", c.GetMismatch())
		}
		parts = append(parts, part)
	}
	return fmt.Sprintf("trials %d done %d running | %s checks/s, %s signals/s | %s | findings %d",
		finished(s), s.GetRunning(), short(uint64(r.perSec)), short(uint64(r.asyncPS)), strings.Join(parts, ", "), len(s.GetFindingIds()))
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
}

func newBar(w io.Writer) *bar {
	b := &bar{progress: mpb.New(mpb.WithOutput(w), mpb.WithWidth(24), mpb.WithRefreshRate(pollEvery))}
	b.bar = b.progress.AddBar(1000,
		mpb.AppendDecorators(
			decor.Percentage(decor.WC{W: 5}),
			decor.Any(func(decor.Statistics) string { return fmt.Sprintf("  ETA %v  ", b.left.Round(time.Second)) }),
			decor.Any(func(decor.Statistics) string { return b.text })))
	return b
}

func (b *bar) update(now time.Time, s *misstepv1.CampaignStatus, r rate) {
	done, left := share(now, s)
	b.text, b.left = progressLine(s, r), left
	b.bar.SetCurrent(int64(min(done, 0.999) * 1000))
}

func (b *bar) end() {
	b.bar.SetCurrent(1000)
	b.progress.Wait()
}
