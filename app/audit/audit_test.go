package audit_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"misstep/app/audit"
	"misstep/app/station"
	"misstep/corpus"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/runner/jvm"
	"misstep/runner/sim"
)

// hidden makes a simulated trial keep evidence of its mismatch and, if it forgets, of one more, which it does not report.
func hidden(t *testing.T, blobs corpus.Store, forgets bool) runner.Executor {
	t.Helper()
	machine, err := sim.New(sim.Script{Events: []sim.Event{{Rate: 1, Outcome: sim.Mismatch("Bug")}}}, runner.SystemClock{})
	require.NoError(t, err)
	return runner.ExecutorFunc(func(ctx context.Context, r *misstepv1.Recipe, progress func(*misstepv1.Progress)) (
		*misstepv1.Outcome, error,
	) {
		o, err := machine.Run(ctx, r, progress)
		if err != nil {
			return nil, err
		}
		m := o.GetMismatches()[0]
		m.Count = 2
		o.Checks = []*misstepv1.CheckCount{{Check: m.GetCheck(), Total: 10, Match: 7, Mismatch: 3}}
		records := []*misstepv1.Mismatch{m}
		if forgets {
			other := proto.CloneOf(m)
			other.Kind, other.Count = "wrong-bci", 5
			records = append(records, other)
		}
		var text bytes.Buffer
		for _, m := range records {
			line, err := protojson.Marshal(m)
			if err != nil {
				return nil, err
			}
			text.Write(append(line, '\n'))
		}
		digest, size, err := blobs.Put(ctx, &text, corpus.Digest{})
		if err != nil {
			return nil, err
		}
		o.Evidence = append(o.Evidence, &misstepv1.Evidence{Name: jvm.FileRecords, Digest: digest.String(), Size: uint64(size)})
		return o, nil
	})
}

func campaign(t *testing.T, forgets bool) *station.Station {
	t.Helper()
	st, err := station.Embed(t.TempDir(), station.HuntTiming(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	t.Cleanup(st.Close)
	digest := "sha256:" + strings.Repeat("a", 64)
	submitted, err := st.SubmitCampaign(t.Context(), &misstepv1.SubmitCampaignRequest{
		Campaign: &misstepv1.Campaign{
			Name: "sim", Jdks: []string{"jdk17"}, Workloads: []*misstepv1.CampaignWorkload{{Name: "w", Repetitions: 1}},
			Checks: []*misstepv1.Check{{Name: "gst-asgct"}}, Budget: &misstepv1.Budget{Trials: 2},
		},
		Jdks: []*misstepv1.Jdk{{Name: "jdk17", Digest: digest}}, Workloads: []*misstepv1.Workload{{Name: "w", Digest: digest}},
	})
	require.NoError(t, err)
	r, err := runner.New(runner.Config{
		Client: st.Leases, Executor: hidden(t, st.Blobs, forgets), Slots: 1, Host: "sim",
		Backoff: func() backoff.BackOff { return backoff.NewConstantBackOff(20 * time.Millisecond) },
	})
	require.NoError(t, err)
	working, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(working) }()
	require.NoError(t, station.WatchCampaign(t.Context(), st, submitted.GetCampaignId(), func(*misstepv1.CampaignStatus) {}))
	stop()
	require.ErrorIs(t, <-done, context.Canceled)
	return st
}

func TestAllThatTheEvidenceHoldsIsInAFinding(t *testing.T) {
	report, err := audit.Run(t.Context(), campaign(t, false))
	require.NoError(t, err)
	require.Equal(t, &audit.Report{
		Trials: 2, Records: 2, Signatures: 1, Missing: []audit.Missing{}, Unrecorded: map[string]uint64{"gst-asgct": 2},
	}, report, "of three mismatches a trial recorded two")
	require.False(t, report.Complete(), "each trial counted a mismatch that it did not record")
}

func TestWhatNoFindingHasIsMissing(t *testing.T) {
	report, err := audit.Run(t.Context(), campaign(t, true))
	require.NoError(t, err)
	require.Equal(t, 2, report.Signatures)
	require.Len(t, report.Missing, 1)
	require.EqualValues(t, 10, report.Missing[0].Count, "five in each of two trials")
	require.Contains(t, report.Missing[0].Signature, "wrong-bci")
}
