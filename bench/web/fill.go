package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

const (
	campaignID = "C1"
	// batch is the number of trials of a transaction.
	batch = 2000
	jdks  = 12
	// workloads and flagSets make combinations with the JDKs.
	workloads, flagSets = 8, 4
	// shownBy is the share of trials that show a finding.
	shownBy = 0.05
)

func digestOf(digit string) string { return "sha256:" + strings.Repeat(digit, 64) }

// signatureOf is the i-th finding's.
func signatureOf(i int) *misstepv1.Signature {
	return &misstepv1.Signature{
		Kind: signature.KindMismatch, Version: signature.Version,
		Parts: []string{"gst-asgct", "truncated", fmt.Sprintf("C%d.m", i)},
	}
}

// filled reports whether fill was called for a store with the same numbers.
func filled(ctx context.Context, st store.Store, trials, findings int) (yes bool, err error) {
	err = st.View(ctx, func(tx store.Tx) error {
		c, err := tx.Campaign(campaignID)
		if err != nil {
			return err
		}
		rows, err := tx.Trials(campaignID, uint64(trials-1), 2)
		if err != nil {
			return err
		}
		_, err = tx.Finding(signature.ID(signatureOf(findings - 1)))
		yes = c.Next == uint64(trials) && len(rows) == 1 && err == nil
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return yes, err
}

// fill makes a store with findings and trials, some of which show one.
func fill(ctx context.Context, st store.Store, trials, findings int) error {
	now := time.Now()
	ids := make([]string, findings)
	jdk := func(i int) *misstepv1.Jdk {
		return &misstepv1.Jdk{
			Name: fmt.Sprintf("jdk%d", 8+i), Version: fmt.Sprintf("%d.0.1", 8+i), Digest: digestOf("a"),
		}
	}
	all := make([]*misstepv1.Jdk, jdks)
	for i := range all {
		all[i] = jdk(i)
	}
	frame := func(class, method string) *misstepv1.Frame {
		return &misstepv1.Frame{ClassName: class, Method: method, Descriptor_: "()V", Bci: 3}
	}
	err := st.Update(ctx, func(tx store.Tx) error {
		for i := range findings {
			s := signatureOf(i)
			id := signature.ID(s)
			ids[i] = id
			var stack []*misstepv1.Frame
			for d := range 40 {
				stack = append(stack, frame(fmt.Sprintf("bench.package%d.Class%d", i%7, d), "method"))
			}
			at := timestamppb.New(now.Add(-time.Duration(i) * time.Minute))
			if err := tx.PutFinding(&store.Finding{Proto: &misstepv1.Finding{
				Id: id, Signature: s, Title: fmt.Sprintf("gst-asgct: the stack is cut off at C%d.m, 5 of 40 frames", i),
				FirstSeen: at, LastSeen: at, Campaigns: []string{campaignID}, ExampleRecipe: &misstepv1.Recipe{Jdk: all[0]},
				Example: &misstepv1.Outcome{Mismatches: []*misstepv1.Mismatch{{
					Check: "gst-asgct", Kind: "truncated", Divergence: 35, Thread: "main",
					Reference: &misstepv1.Trace{Source: "gst", Frames: stack, NumFrames: 40},
					Suspect:   &misstepv1.Trace{Source: "asgct", Frames: stack[:5], NumFrames: 5},
				}}},
			}}); err != nil {
				return err
			}
		}
		return tx.PutCampaign(&store.Campaign{
			ID: campaignID, State: misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING, Submitted: now, Next: uint64(trials),
			Submission: &misstepv1.SubmitCampaignRequest{
				Jdks: all, Campaign: &misstepv1.Campaign{Name: "bench", Budget: &misstepv1.Budget{Trials: 1 << 40}},
			},
			Tally: &misstepv1.CampaignStatus{Outcomes: map[string]uint64{"clean": uint64(trials)}},
		})
	})
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(1, 2))
	for done := 0; done < trials; done += batch {
		var rows []*store.Trial
		for i := done; i < min(done+batch, trials); i++ {
			rows = append(rows, trial(random, uint64(i), all, ids, now))
		}
		if err := st.Update(ctx, func(tx store.Tx) error { return tx.(store.Bulk).AddTrials(rows) }); err != nil {
			return err
		}
	}
	return nil
}

func trial(random *rand.Rand, index uint64, all []*misstepv1.Jdk, ids []string, now time.Time) *store.Trial {
	t := &store.Trial{
		Campaign: campaignID, Index: index, Ended: now,
		Recipe: &misstepv1.Recipe{
			Seed: index, Jdk: all[random.IntN(len(all))],
			Workload: &misstepv1.Workload{Name: fmt.Sprint("w", random.IntN(workloads))},
			FlagSet:  fmt.Sprint("f", random.IntN(flagSets)), Checks: []*misstepv1.Check{{Name: "gst-asgct"}},
		},
		Outcome: &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN},
	}
	if random.Float64() < shownBy {
		// A few findings have most of the hits.
		n := int(float64(len(ids)) * random.Float64() * random.Float64() * random.Float64())
		t.Outcome.Kind, t.FindingIDs = misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES, []string{ids[n]}
	}
	return t
}
