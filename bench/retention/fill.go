package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"misstep/coordinator/store"
	"misstep/corpus"
	misstepv1 "misstep/proto/misstep/v1"
)

const (
	campaignID = "C1"
	// files is the number of files of evidence that each trial has of its own, as a runner keeps them of a quiet trial.
	files = 6
	// batch is the number of trials of a transaction.
	batch = 2000
)

// filler adds trials to a store.
type filler struct {
	store store.Store
	next  uint64
}

// campaign makes the campaign of all trials, which runs: all of their evidence is needed.
func (f *filler) campaign(ctx context.Context) error {
	return f.store.Update(ctx, func(tx store.Tx) error {
		return tx.PutCampaign(&store.Campaign{
			ID: campaignID, Submission: &misstepv1.SubmitCampaignRequest{Campaign: &misstepv1.Campaign{Name: "retention"}},
			State: misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING, Submitted: time.Now(), Tally: &misstepv1.CampaignStatus{},
		})
	})
}

// add adds trials, many in a transaction.
func (f *filler) add(ctx context.Context, trials int) error {
	for trials > 0 {
		all := make([]*store.Trial, 0, batch)
		for range min(batch, trials) {
			all = append(all, f.trial())
		}
		trials -= len(all)
		if err := f.store.Update(ctx, func(tx store.Tx) error { return tx.(store.Bulk).AddTrials(all) }); err != nil {
			return err
		}
	}
	return nil
}

// one adds a trial, as a call does.
func (f *filler) one(ctx context.Context) error {
	t := f.trial()
	return f.store.Update(ctx, func(tx store.Tx) error { return tx.AddTrial(t) })
}

func (f *filler) trial() *store.Trial {
	t := &store.Trial{
		Campaign: campaignID, Index: f.next, Ended: time.Now(),
		Recipe: &misstepv1.Recipe{
			Seed: f.next, Jdk: &misstepv1.Jdk{Name: "jdk25", Digest: digest(0, 100).String()},
			Workload: &misstepv1.Workload{Name: "mix", Digest: digest(0, 101).String()},
			Checks:   []*misstepv1.Check{{Name: "gst-asgct"}},
		},
		Outcome: &misstepv1.Outcome{
			Kind:   misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN,
			Checks: []*misstepv1.CheckCount{{Check: "gst-asgct", Total: 1000, Match: 1000}},
		},
	}
	for i := range uint64(files) {
		t.Outcome.Evidence = append(t.Outcome.Evidence, &misstepv1.Evidence{
			Name: fmt.Sprint("file", i), Digest: digest(f.next, i).String(), Size: 1000,
		})
	}
	f.next++
	return t
}

func digest(trial, file uint64) corpus.Digest {
	return corpus.DigestBytes(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, trial), file))
}
