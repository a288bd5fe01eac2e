package hunt

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"misstep/app/bundles"
	"misstep/app/local"
	"misstep/app/reproduction"
	"misstep/app/station"
	"misstep/bundle"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/runner/sim"
)

// meanwhile runs trials of the station's on a machine of the test's until work is done.
func meanwhile(t *testing.T, st *station.Station, agent string, machine runner.Executor, work func()) {
	t.Helper()
	r, err := runner.New(runner.Config{
		Client: st.Leases, Executor: machine, Slots: 4, Host: "sim", AgentDigest: agent,
		Backoff: func() backoff.BackOff { return backoff.NewConstantBackOff(20 * time.Millisecond) },
	})
	require.NoError(t, err)
	working, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(working) }()
	work()
	stop()
	require.ErrorIs(t, <-done, context.Canceled)
}

// TestHuntResumesReproducing: the same command in a folder whose findings were being reproduced resumes that instead of hunting
// further.
func TestHuntResumesReproducing(t *testing.T) {
	st, err := station.Embed(t.TempDir(), station.HuntTiming(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	defer st.Close()
	request := func() *misstepv1.SubmitCampaignRequest { // resume gives it another seed
		digest := "sha256:" + strings.Repeat("b", 64)
		return &misstepv1.SubmitCampaignRequest{
			Campaign: &misstepv1.Campaign{
				Name: "sim", Seed: 3, Jdks: []string{"jdk21"}, Workloads: []*misstepv1.CampaignWorkload{{Name: "w", Repetitions: 1}},
				Checks: []*misstepv1.Check{{Name: "gst-asgct"}}, Budget: &misstepv1.Budget{Trials: 1},
				FlagSets: []*misstepv1.FlagSet{{Name: "some", Flags: []string{"-Xcomp", "-XX:-Inline"}}},
			},
			Jdks: []*misstepv1.Jdk{{Name: "jdk21", Digest: digest}}, Workloads: []*misstepv1.Workload{{Name: "w", Digest: digest}},
		}
	}
	var log bytes.Buffer
	say := func(format string, args ...any) { fmt.Fprintf(&log, format+"\n", args...) }
	resumed := func(reproduce bool) string {
		h := Hunt{Reproduce: reproduce, Limits: reproduction.Limits{CleanTries: 10}, Say: say}
		id, err := h.resume(t.Context(), st, request())
		require.NoError(t, err)
		return id
	}
	first := resumed(true)
	assert.Equal(t, first, resumed(true), "it runs")
	machine, err := sim.New(sim.Script{Events: []sim.Event{{Rate: 1, Outcome: sim.Mismatch("Bug")}}}, runner.SystemClock{})
	require.NoError(t, err)
	meanwhile(t, st, "", machine, func() {
		require.NoError(t, station.WatchCampaign(t.Context(), st, first, func(*misstepv1.CampaignStatus) {}))
	})
	found, err := st.ListFindings(t.Context(), &misstepv1.ListFindingsRequest{CampaignId: first})
	require.NoError(t, err)
	require.Len(t, found.GetFindings(), 1)
	finding := found.GetFindings()[0].GetId()
	started, err := st.StartReproduction(t.Context(), &misstepv1.StartReproductionRequest{FindingId: finding})
	require.NoError(t, err)

	assert.Equal(t, first, resumed(true))
	assert.Contains(t, log.String(), "resuming the reproduction")
	meanwhile(t, st, "", machine, func() {
		show := func(*misstepv1.ReproductionStatus) {}
		status, err := station.WatchReproduction(t.Context(), st, started.GetReproductionId(), show)
		require.NoError(t, err)
		require.Equal(t, misstepv1.ReproductionState_REPRODUCTION_STATE_DONE, status.GetState(), status.GetFailure())
	})
	assert.Equal(t, first, resumed(true), "it was not tried from a clean folder")
	_, err = st.RecordClean(t.Context(), &misstepv1.RecordCleanRequest{
		ReproductionId: started.GetReproductionId(),
		Clean:          &misstepv1.Reliability{Tries: 10},
	})
	require.NoError(t, err)
	assert.NotEqual(t, first, resumed(true), "nothing is left to reproduce")
}

// The bundle of a finding that was merged is the other's reproducer, and expects what its recipe shows, also when that is the
// merged one's stacks.
func TestBundleOfMergedFindings(t *testing.T) {
	st, err := station.Embed(t.TempDir(), station.HuntTiming(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	defer st.Close()
	i := local.Installation{Home: testenv.Home(t), AgentDir: testenv.Agent(t)}
	artefacts, err := i.Agent()
	require.NoError(t, err)
	workload, err := i.Workloads().Get("clinit")
	require.NoError(t, err)
	submitted, err := st.SubmitCampaign(t.Context(), &misstepv1.SubmitCampaignRequest{
		Campaign: &misstepv1.Campaign{
			Name: "sim", Seed: 3, Jdks: []string{"jdk17"}, Workloads: []*misstepv1.CampaignWorkload{{Name: "clinit", Repetitions: 1}},
			Checks: []*misstepv1.Check{{Name: "gst-asgct"}}, Budget: &misstepv1.Budget{Trials: 1},
		},
		Jdks:      []*misstepv1.Jdk{{Name: "jdk17", Digest: "sha256:" + strings.Repeat("a", 64)}},
		Workloads: []*misstepv1.Workload{{Name: "clinit", Digest: workload.Digest.String()}}, AgentDigest: artefacts.Digest,
	})
	require.NoError(t, err)
	var alone atomic.Bool // the second finding does not show any more
	bug, err := sim.New(sim.Script{Events: []sim.Event{{Rate: 1, Outcome: sim.Mismatch("Bug")}}}, runner.SystemClock{})
	require.NoError(t, err)
	machine := runner.ExecutorFunc(func(ctx context.Context, r *misstepv1.Recipe,
		progress func(*misstepv1.Progress),
	) (*misstepv1.Outcome, error) {
		o, err := bug.Run(ctx, r, progress)
		if err == nil && !alone.Load() {
			o.Mismatches = append(o.Mismatches, proto.CloneOf(o.GetMismatches()[0]))
			o.Mismatches[1].Kind = "wrong-bci"
		}
		return o, err
	})
	meanwhile(t, st, artefacts.Digest, machine, func() {
		require.NoError(t, station.WatchCampaign(t.Context(), st, submitted.GetCampaignId(), func(*misstepv1.CampaignStatus) {}))
	})
	found, err := st.ListFindings(t.Context(), &misstepv1.ListFindingsRequest{})
	require.NoError(t, err)
	require.Len(t, found.GetFindings(), 2)
	head, merged := found.GetFindings()[0], found.GetFindings()[1]
	if head.GetSignature().GetParts()[1] == "truncated" {
		head, merged = merged, head
	}
	_, err = st.MergeFindings(t.Context(), &misstepv1.MergeFindingsRequest{FindingId: merged.GetId(), IntoId: head.GetId()})
	require.NoError(t, err)
	alone.Store(true)
	started, err := st.StartReproduction(t.Context(), &misstepv1.StartReproductionRequest{FindingId: merged.GetId(), Trials: 60})
	require.NoError(t, err)
	meanwhile(t, st, artefacts.Digest, machine, func() {
		s, err := station.WatchReproduction(t.Context(), st, started.GetReproductionId(), func(*misstepv1.ReproductionStatus) {})
		require.NoError(t, err)
		require.Equal(t, misstepv1.ReproductionState_REPRODUCTION_STATE_DONE, s.GetState(), s.GetFailure())
	})
	for _, id := range []string{head.GetId(), merged.GetId()} {
		path := filepath.Join(t.TempDir(), "b.zip")
		require.NoError(t, bundles.Writer{Installation: i, Station: st}.Finding(t.Context(), id, path, ""))
		b, err := bundle.Open(path)
		require.NoError(t, err)
		defer b.Close()
		f := b.Reproducer().GetFinding()
		assert.NotEmpty(t, b.Reproducer().GetSteps(), "%s: the example as it was found", id)
		assert.Equal(t, head.GetId(), f.GetId())
		assert.Equal(t, []string{merged.GetId()}, f.GetAliases())
		assert.True(t, proto.Equal(merged.GetSignature(), f.GetSignature()), "%v", f.GetSignature())
	}
}
