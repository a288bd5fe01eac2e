package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/app/station"
	"misstep/bench"
	"misstep/coordinator"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

const (
	// readsFindings are the findings that one in readsHit trials shows.
	readsFindings, readsHit = 20, 50
	// readsRepeated is how often each call is made.
	readsRepeated = 15
)

// look is how long a call takes on a store with a number of trials: First the first one after the start, Median those after it, in
// milliseconds.
type look struct {
	Call          string
	Stored        uint64
	First, Median float64
	Load          string
}

// readsSignature is the i-th finding's.
func readsSignature(i int) *misstepv1.Signature {
	return &misstepv1.Signature{
		Kind: signature.KindMismatch, Version: signature.Version,
		Parts: []string{"gst-asgct", "truncated", fmt.Sprintf("C%d.m", i)},
	}
}

// measureReads measures what people look at, on stores with more and more trials.
func (r *results) measureReads(ctx context.Context, dir string, until time.Time) error {
	place := filepath.Join(dir, "reads")
	if err := os.RemoveAll(place); err != nil {
		return fmt.Errorf("empty the store: %w", err)
	}
	rate := 3000.0 // of trials that are stored, until it is known
	for _, stock := range r.options.stocks {
		n := uint64(stock)
		if n == 0 {
			continue
		}
		r.planned++
		if needed := time.Duration(float64(n) / rate * float64(time.Second)); time.Until(until) < needed {
			bench.Note("not read with %d trials, which take %v to store: raise BUDGET", n, needed.Round(time.Second))
			continue
		}
		begin := time.Now()
		if err := fillReads(ctx, place, n); err != nil {
			return fmt.Errorf("store %d trials: %w", n, err)
		}
		rate = float64(n) / time.Since(begin).Seconds()
		if err := r.look(ctx, place, n); err != nil {
			return err
		}
	}
	return nil
}

// fillReads makes a store hold so many trials.
func fillReads(ctx context.Context, url string, target uint64) error {
	return extend(ctx, url, func(tx store.Tx, c *store.Campaign) (more bool, err error) {
		if c.Next < target {
			err = addReads(tx, c, min(fillBatch, target-c.Next))
		}
		return c.Next < target, err
	})
}

// addReads adds the next n trials of a campaign, some of which show a finding.
func addReads(tx store.Tx, c *store.Campaign, n uint64) error {
	trials, err := trialsFor(c, n)
	if err != nil {
		return err
	}
	now := timestamppb.Now()
	for i, t := range trials {
		if t.Index%readsHit > 0 {
			continue
		}
		s := readsSignature(int(t.Index / readsHit % readsFindings))
		trials[i].Outcome.Kind = misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES
		trials[i].FindingIDs = []string{signature.ID(s)}
		if err := tx.PutFinding(&store.Finding{Proto: &misstepv1.Finding{
			Id: signature.ID(s), Signature: s, Title: s.GetParts()[2], FirstSeen: now, LastSeen: now, Campaigns: []string{c.ID},
			Example: t.Outcome, ExampleRecipe: t.Recipe,
		}}); err != nil {
			return err
		}
	}
	b, ok := tx.(store.Bulk)
	if !ok {
		return errors.New("expected a store that takes many rows at once")
	}
	return errors.Join(b.AddTrials(trials), tx.PutCampaign(c))
}

// look makes all calls on a store.
func (r *results) look(ctx context.Context, dir string, stored uint64) error {
	st, err := station.Embed(dir, coordinator.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer st.Close()
	id := signature.ID(readsSignature(1))
	last := fmt.Sprint(stored - 10)
	calls := []struct {
		name string
		call func() error
	}{
		{"findings list", func() error { return failed(st.ListFindings(ctx, &misstepv1.ListFindingsRequest{})) }},
		{"bugs", func() error {
			return failed(st.ListBugs(ctx, &misstepv1.ListBugsRequest{Findings: &misstepv1.ListFindingsRequest{}}))
		}},
		{"findings show", func() error { return failed(st.GetFinding(ctx, &misstepv1.GetFindingRequest{FindingId: id})) }},
		{"campaign show", func() error { return failed(st.GetCampaign(ctx, &misstepv1.GetCampaignRequest{CampaignId: filled})) }},
		{"campaign list", func() error { return failed(st.ListCampaigns(ctx, &misstepv1.ListCampaignsRequest{})) }},
		{"first page of trials", func() error { return failed(st.ListTrials(ctx, trialsPage(""))) }},
		{"last page of trials", func() error { return failed(st.ListTrials(ctx, trialsPage(last))) }},
		{"runners", func() error { return failed(st.ListRunners(ctx, &misstepv1.ListRunnersRequest{})) }},
	}
	for _, c := range calls {
		l := look{Call: c.name, Stored: stored, Load: load()}
		var times []float64
		for range readsRepeated {
			begin := time.Now()
			if err := c.call(); err != nil {
				return fmt.Errorf("%s with %d trials: %w", c.name, stored, err)
			}
			times = append(times, 1000*time.Since(begin).Seconds())
		}
		l.First, l.Median = times[0], median(times[1:])
		bench.Note("%s with %d trials: first %.1f ms, then %.1f ms", l.Call, l.Stored, l.First, l.Median)
		r.Looks = append(r.Looks, l)
	}
	return nil
}

func failed[T any](_ T, err error) error { return err }

func trialsPage(token string) *misstepv1.ListTrialsRequest {
	return &misstepv1.ListTrialsRequest{CampaignId: filled, PageSize: 50, PageToken: token}
}

// readsGoals compare each call on the fullest store with the emptiest.
func (r *results) readsGoals() (goals []bench.Goal) {
	if len(r.Looks) == 0 {
		return nil
	}
	least, most := r.Looks[0].Stored, r.Looks[len(r.Looks)-1].Stored
	for _, few := range r.Looks {
		if few.Stored != least || least == most {
			continue
		}
		i := slices.IndexFunc(r.Looks, func(l look) bool { return l.Call == few.Call && l.Stored == most })
		const floor = 5 // ms, below which nobody notices
		goals = append(goals, bench.Goal{
			Name: fmt.Sprintf("%s: with %.0g trials, of with %.0g", few.Call, float64(most), float64(least)), Goal: 2,
			Measured: math.Max(r.Looks[i].Median, floor) / math.Max(few.Median, floor),
		})
	}
	return goals
}

func (r *results) readsTables() []bench.Table {
	if len(r.Looks) == 0 {
		return nil
	}
	t := bench.Table{Title: "What people look at (ms)", Columns: []string{"call", "trials", "first", "median after", "load"}}
	for _, l := range r.Looks {
		t.Rows = append(t.Rows, []string{
			l.Call, fmt.Sprint(l.Stored), fmt.Sprintf("%.1f", l.First), fmt.Sprintf("%.1f", l.Median), l.Load,
		})
	}
	return []bench.Table{t}
}
