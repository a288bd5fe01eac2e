package scoped_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/coordinator/projects"
	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	"misstep/coordinator/store/scoped"
	"misstep/coordinator/visibility"
	misstepv1 "misstep/proto/misstep/v1"
)

// reading counts the trials that are read, and in how many reads.
type reading struct {
	store.Tx
	reads, rows int
}

func (r *reading) Trials(campaign string, after uint64, limit int) ([]*store.Trial, error) {
	all, err := r.Tx.Trials(campaign, after, limit)
	r.reads++
	r.rows += len(all)
	return all, err
}

// Trials of a hidden finding before those that somebody sees are read in pages, and no more are read than it takes.
func TestTrialsBehindHiddenOnesAreReadInPages(t *testing.T) {
	s := memory.New()
	const hidden, shown = 1000, 300
	now := time.Unix(1_700_000_000, 0)
	require.NoError(t, s.Update(t.Context(), func(whole store.Tx) error {
		tx := scoped.In(whole, projects.Default)
		require.NoError(t, tx.PutCampaign(&store.Campaign{
			ID: "C", Submission: &misstepv1.SubmitCampaignRequest{}, Tally: &misstepv1.CampaignStatus{},
		}))
		require.NoError(t, tx.PutVisibility(&misstepv1.FindingVisibility{
			FindingId: "secret", Visibility: misstepv1.Visibility_VISIBILITY_PRIVATE,
		}))
		for i := range uint64(hidden + shown) {
			trial := &store.Trial{Campaign: "C", Index: i, Recipe: &misstepv1.Recipe{}, Outcome: &misstepv1.Outcome{}, Ended: now}
			if i < hidden {
				trial.FindingIDs = []string{"secret"}
			}
			require.NoError(t, tx.AddTrial(trial))
		}
		return nil
	}))
	require.NoError(t, s.View(t.Context(), func(whole store.Tx) error {
		for _, limit := range []int{1, 50, 250, 1000} {
			r := &reading{Tx: whole}
			all, err := scoped.See(scoped.In(r, projects.Default), visibility.Reader{Name: "anna"}, now).Trials("C", 0, limit)
			require.NoError(t, err)
			require.Len(t, all, min(limit, shown))
			for i, trial := range all {
				assert.EqualValues(t, hidden+i, trial.Index, "each once, in order")
			}
			assert.LessOrEqual(t, r.reads, 13, "limit %d", limit)
			assert.LessOrEqual(t, r.rows, hidden+limit+100, "limit %d", limit)
		}
		return nil
	}))
}
