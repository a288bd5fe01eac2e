package view_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	"misstep/coordinator/view"
	misstepv1 "misstep/proto/misstep/v1"
)

// ended is a trial with the time at which it ended.
type ended struct {
	at              time.Time
	campaign, check string
	hit             bool
}

// testingT is a test, or a property that is checked.
type testingT interface {
	require.TestingT
	Context() context.Context
}

// histories returns that of the finding F, which was first seen now, by each way to read it, and that of all findings.
func histories(t testingT, trials []ended) (listed, bug, one, all *misstepv1.History) {
	s := memory.New()
	require.NoError(t, s.Update(t.Context(), func(tx store.Tx) error {
		require.NoError(t, tx.PutCampaign(&store.Campaign{
			ID: "C1", Tally: &misstepv1.CampaignStatus{}, Submission: &misstepv1.SubmitCampaignRequest{
				Jdks: []*misstepv1.Jdk{{Name: "jdk17", Version: "17.0.15"}},
			},
		}))
		require.NoError(t, tx.PutReproduction(&misstepv1.Reproduction{Id: "R1"}))
		for i, x := range trials {
			var shows []string
			if x.hit {
				shows = []string{"F"}
			}
			require.NoError(t, tx.AddTrial(&store.Trial{
				Campaign: x.campaign, Index: uint64(i), FindingIDs: shows, Ended: x.at,
				Recipe:  &misstepv1.Recipe{Jdk: &misstepv1.Jdk{Name: "jdk17"}, Checks: []*misstepv1.Check{{Name: x.check}}},
				Outcome: &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES},
			}))
		}
		return tx.PutFinding(&store.Finding{Proto: &misstepv1.Finding{
			Id: "F", Campaigns: []string{"C1"}, FirstSeen: timestamppb.New(now), LastSeen: timestamppb.New(now),
			Signature: &misstepv1.Signature{Kind: "mismatch", Parts: []string{"gst-asgct", "truncated", "x"}},
		}})
	}))
	require.NoError(t, s.View(t.Context(), func(tx store.Tx) error {
		r := reader(fleet{})
		findings, err := r.Findings(tx, view.Selection{})
		require.NoError(t, err)
		findings.Fill(findings.All[0])
		bugs, err := r.Bugs(tx, view.Selection{})
		require.NoError(t, err)
		bugs.Fill(bugs.All[0])
		g, err := view.LoadGroups(tx)
		require.NoError(t, err)
		f, err := r.Finding(tx, g, "F")
		require.NoError(t, err)
		listed, bug, one, all = findings.All[0].GetHistory(), bugs.All[0].GetHistory(), f.GetHistory(), bugs.History
		return nil
	}))
	return listed, bug, one, all
}

// Each trial that could have shown a finding is in the period in which it ended, and no other trial is.
func TestHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := now.UTC()
		trials := []ended{{at, "C1", "gst-asgct", true}}
		for range rapid.IntRange(0, 40).Draw(t, "trials") {
			unit := rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour, 90 * 24 * time.Hour})
			at = at.Add(time.Duration(rapid.IntRange(0, 25).Draw(t, "gap")) * unit.Draw(t, "unit"))
			trials = append(trials, ended{
				at, rapid.SampledFrom([]string{"C1", "R1"}).Draw(t, "campaign"),
				rapid.SampledFrom([]string{"gst-asgct", "liveness"}).Draw(t, "check"), false,
			})
			last := &trials[len(trials)-1]
			last.hit = last.check == "gst-asgct" && rapid.Bool().Draw(t, "hit")
		}
		listed, bug, one, all := histories(t, trials)
		periods, begin, width := len(listed.GetTrials()), listed.GetBegin().AsTime(), listed.GetWidth().AsDuration()
		assert.LessOrEqual(t, periods, 32)
		assert.Equal(t, begin, begin.Truncate(width))
		last := begin.Add(time.Duration(periods) * width)
		assert.False(t, at.Before(last.Add(-width)) || !at.Before(last), "the last trial is in the last period")
		hits, tried, any := make([]uint64, periods), make([]uint64, periods), make([]uint64, periods)
		for _, x := range trials {
			if x.at.Before(begin) || x.campaign == "R1" {
				continue
			}
			i := x.at.Sub(begin) / width
			any[i]++
			if x.check == "gst-asgct" {
				tried[i]++
			}
			if x.hit {
				hits[i]++
			}
		}
		for _, h := range []*misstepv1.History{listed, bug, one} {
			assert.Equal(t, hits, h.GetHits())
			assert.Equal(t, tried, h.GetTrials())
		}
		assert.Equal(t, any, all.GetTrials())
		assert.Equal(t, hits, all.GetHits())
		found := slices.Index(all.GetFound(), 1)
		if begin.After(now) {
			assert.Equal(t, -1, found, "before the first period")
		} else {
			assert.Equal(t, 0, found)
		}
	})
}

// The length of a period grows with what there is, and stands on whole hours, days and weeks.
func TestPeriods(t *testing.T) {
	begin := time.Date(2026, 11, 26, 13, 7, 20, 0, time.UTC) // a Thursday
	for _, test := range []struct {
		span, width time.Duration
		begin       time.Time
		periods     int
	}{
		{0, time.Minute, begin.Truncate(time.Minute), 1},
		{3 * time.Minute, time.Minute, begin.Truncate(time.Minute), 4},
		{time.Hour, 10 * time.Minute, time.Date(2026, 11, 26, 13, 0, 0, 0, time.UTC), 7},
		{26 * time.Hour, time.Hour, time.Date(2026, 11, 26, 13, 0, 0, 0, time.UTC), 27},
		{20 * 24 * time.Hour, 24 * time.Hour, time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC), 21},
		{100 * 24 * time.Hour, 7 * 24 * time.Hour, time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC), 15},
	} {
		h, _, _, _ := histories(t, []ended{{begin, "C1", "gst-asgct", true}, {begin.Add(test.span), "C1", "gst-asgct", false}})
		assert.Equal(t, test.width, h.GetWidth().AsDuration(), test.span)
		assert.Equal(t, test.begin, h.GetBegin().AsTime(), test.span)
		assert.Len(t, h.GetTrials(), test.periods, test.span)
	}
}

// After a clock was set back trials count where the latest one before them does.
func TestHistoryOfAClockThatWasSetBack(t *testing.T) {
	h, _, _, _ := histories(t, []ended{
		{now, "C1", "gst-asgct", true},
		{now.Add(5 * time.Minute), "C1", "gst-asgct", true},
		{now.Add(-time.Hour), "C1", "gst-asgct", true},
		{now.Add(6 * time.Minute), "C1", "gst-asgct", true},
	})
	assert.Equal(t, []uint64{1, 0, 0, 0, 0, 2, 1}, h.GetHits())
}
