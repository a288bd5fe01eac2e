package coordinator_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"misstep/coordinator"
	"misstep/coordinator/store/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

// Reports of runners are bounded: a malformed report is rejected as a whole and changes nothing.
func TestSynchronizeBounds(t *testing.T) {
	running := &misstepv1.HeldLease_Running{Running: &misstepv1.Progress{}}
	for want, change := range map[string]func(*misstepv1.SynchronizeRequest){
		"runner.id":           func(r *misstepv1.SynchronizeRequest) { r.Runner = nil },
		"without spaces":      func(r *misstepv1.SynchronizeRequest) { r.Runner.Id = "a b" },
		"1 to 256":            func(r *misstepv1.SynchronizeRequest) { r.Runner.Id = strings.Repeat("x", 257) },
		"runner.host":         func(r *misstepv1.SynchronizeRequest) { r.Runner.Host = strings.Repeat("x", 257) },
		"runner.slots":        func(r *misstepv1.SynchronizeRequest) { r.Runner.Slots = 1 << 20 },
		"free_slots":          func(r *misstepv1.SynchronizeRequest) { r.FreeSlots = 9 },
		"runner.agent_digest": func(r *misstepv1.SynchronizeRequest) { r.Runner.AgentDigest = "sha256:zz" },
		"capabilities":        func(r *misstepv1.SynchronizeRequest) { r.Runner.Capabilities = make([]string, 65) },
		"at most 4096 leases": func(r *misstepv1.SynchronizeRequest) { r.Held = make([]*misstepv1.HeldLease, 4097) },
		"held[0].lease_id":    func(r *misstepv1.SynchronizeRequest) { r.Held = []*misstepv1.HeldLease{{State: running}} },
		"expected running, o": func(r *misstepv1.SynchronizeRequest) { r.Held = []*misstepv1.HeldLease{{LeaseId: "L1"}} },
		"held[0].running": func(r *misstepv1.SynchronizeRequest) {
			r.Held = []*misstepv1.HeldLease{
				{
					LeaseId: "L1",
					State:   &misstepv1.HeldLease_Running{Running: &misstepv1.Progress{Phase: strings.Repeat("x", 1<<19)}},
				},
			}
		},
	} {
		s := coordinator.New(coordinator.Config{Store: memory.New()})
		req := &misstepv1.SynchronizeRequest{Runner: &misstepv1.Runner{Id: "r", Slots: 2}}
		change(req)
		_, err := s.Synchronize(t.Context(), req)
		assert.Equal(t, codes.InvalidArgument, status.Code(err), want)
		assert.ErrorContains(t, err, want)
	}
}

// An outcome that cannot be recorded spoils its own trial and nothing else.
func TestOutcomeBounds(t *testing.T) {
	good := &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN}
	for want, change := range map[string]func(*misstepv1.Outcome){
		"known kind, got 0":       func(o *misstepv1.Outcome) { o.Kind = 0 },
		"known kind, got 99":      func(o *misstepv1.Outcome) { o.Kind = 99 },
		"mismatches, got 1025":    func(o *misstepv1.Outcome) { o.Mismatches = make([]*misstepv1.Mismatch, 1025) },
		"expected a check and a":  func(o *misstepv1.Outcome) { o.Mismatches = []*misstepv1.Mismatch{{}} },
		"kind is mismatches, but": func(o *misstepv1.Outcome) { o.Kind = misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES },
		"kind is crash, but":      func(o *misstepv1.Outcome) { o.Kind = misstepv1.OutcomeKind_OUTCOME_KIND_CRASH },
		"kind is hang, but":       func(o *misstepv1.Outcome) { o.Kind = misstepv1.OutcomeKind_OUTCOME_KIND_HANG },
		"checks, got 65":          func(o *misstepv1.Outcome) { o.Checks = make([]*misstepv1.CheckCount, 65) },
		"bytes of reason":         func(o *misstepv1.Outcome) { o.Reason = strings.Repeat("x", 1<<17) },
		"at most 33554432":        func(o *misstepv1.Outcome) { o.Reason = strings.Repeat("x", 33<<20) },
		"more than 16384 frames": func(o *misstepv1.Outcome) {
			o.Mismatches = []*misstepv1.Mismatch{
				{Check: "c", Kind: "k", Suspect: &misstepv1.Trace{Frames: make([]*misstepv1.Frame, 1<<14+1)}},
			}
		},
		"gaps that are empty or out of order": func(o *misstepv1.Outcome) {
			o.Mismatches = []*misstepv1.Mismatch{
				{Check: "c", Kind: "k", Suspect: &misstepv1.Trace{LeftOut: []*misstepv1.FramesLeftOut{{Before: 1, Frames: 2}}}},
			}
		},
		"mismatch 0 has more than 1024 stack words": func(o *misstepv1.Outcome) {
			o.Mismatches = []*misstepv1.Mismatch{{Check: "c", Kind: "k", Stack: make([]*misstepv1.StackWord, 1025)}}
		},
		"mismatch 0 has more than 1024 bytes of code": func(o *misstepv1.Outcome) {
			o.Mismatches = []*misstepv1.Mismatch{{Check: "c", Kind: "k", ReturnCode: make([]byte, 1<<10+1)}}
		},
		"evidence 0": func(o *misstepv1.Outcome) {
			o.Evidence = []*misstepv1.Evidence{{Name: "../x", Digest: digest("a")}}
		},
		"evidence 1": func(o *misstepv1.Outcome) {
			o.Evidence = []*misstepv1.Evidence{{Name: "x", Digest: digest("a")}, {Name: "y", Digest: "sha1:1"}}
		},
	} {
		s := coordinator.New(coordinator.Config{Store: memory.New()})
		sub, err := s.SubmitCampaign(t.Context(), submission(2))
		require.NoError(t, err)
		runner := &misstepv1.Runner{Id: "r", Slots: 2}
		leased, err := s.Synchronize(t.Context(), &misstepv1.SynchronizeRequest{Runner: runner, FreeSlots: 2})
		require.NoError(t, err)
		require.Len(t, leased.GetDesired(), 2)
		bad := proto.CloneOf(good)
		change(bad)
		resp, err := s.Synchronize(t.Context(), &misstepv1.SynchronizeRequest{Runner: runner, Held: []*misstepv1.HeldLease{
			{LeaseId: leased.GetDesired()[0].GetId(), State: &misstepv1.HeldLease_Outcome{Outcome: bad}},
			{LeaseId: leased.GetDesired()[1].GetId(), State: &misstepv1.HeldLease_Outcome{Outcome: good}},
		}})
		require.NoError(t, err, want)
		assert.Empty(t, resp.GetDesired(), "both are acknowledged: repeating the bad one would not fix it")
		trials, err := s.ListTrials(t.Context(), &misstepv1.ListTrialsRequest{CampaignId: sub.GetCampaignId()})
		require.NoError(t, err)
		require.Len(t, trials.GetTrials(), 2)
		assert.Contains(t, trials.GetTrials()[0].GetFailure().GetMessage(), want)
		assert.NotNil(t, trials.GetTrials()[1].GetOutcome())
	}
}

func TestSubmitBounds(t *testing.T) {
	for want, change := range map[string]func(*misstepv1.SubmitCampaignRequest){
		"campaign: is required": func(r *misstepv1.SubmitCampaignRequest) { r.Campaign = nil },
		"jdks[0].digest":        func(r *misstepv1.SubmitCampaignRequest) { r.Jdks[0].Digest = "" },
		"workloads[0].digest":   func(r *misstepv1.SubmitCampaignRequest) { r.Workloads[0].Digest = "x" },
		"agent_digest":          func(r *misstepv1.SubmitCampaignRequest) { r.AgentDigest = "x" },
		`jdks[0]: "17"`:         func(r *misstepv1.SubmitCampaignRequest) { r.Jdks = nil },
		`workloads[0].name`:     func(r *misstepv1.SubmitCampaignRequest) { r.Workloads = nil },
		"at most 4194304":       func(r *misstepv1.SubmitCampaignRequest) { r.Jdks[0].Version = strings.Repeat("x", 5<<20) },
		"name: is required":     func(r *misstepv1.SubmitCampaignRequest) { r.Campaign.Name = "" },
	} {
		s := coordinator.New(coordinator.Config{Store: memory.New()})
		req := submission(1)
		change(req)
		_, err := s.SubmitCampaign(t.Context(), req)
		assert.Equal(t, codes.InvalidArgument, status.Code(err), want)
		require.ErrorContains(t, err, want)
		list, err := s.ListCampaigns(t.Context(), &misstepv1.ListCampaignsRequest{})
		require.NoError(t, err)
		assert.Empty(t, list.GetCampaigns())
	}
}

// A page of trials fits into a message of the default maximum size, however large its outcomes are.
func TestListTrialsPages(t *testing.T) {
	s := coordinator.New(coordinator.Config{Store: memory.New()})
	const trials = 8
	sub, err := s.SubmitCampaign(t.Context(), submission(trials))
	require.NoError(t, err)
	runner := &misstepv1.Runner{Id: "r", Slots: trials}
	leased, err := s.Synchronize(t.Context(), &misstepv1.SynchronizeRequest{Runner: runner, FreeSlots: trials})
	require.NoError(t, err)
	req := &misstepv1.SynchronizeRequest{Runner: runner}
	for _, l := range leased.GetDesired() {
		req.Held = append(req.Held,
			&misstepv1.HeldLease{LeaseId: l.GetId(), State: &misstepv1.HeldLease_Outcome{Outcome: &misstepv1.Outcome{
				Kind:       misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES,
				Mismatches: []*misstepv1.Mismatch{{Check: "gst-asgct", Kind: "code", Thread: strings.Repeat("x", 1<<20)}},
			}}})
	}
	_, err = s.Synchronize(t.Context(), req)
	require.NoError(t, err)
	list := &misstepv1.ListTrialsRequest{CampaignId: sub.GetCampaignId()}
	seen, pages := map[uint64]bool{}, 0
	for {
		resp, err := s.ListTrials(t.Context(), list)
		require.NoError(t, err)
		assert.Less(t, proto.Size(resp), 4<<20, "the limit of gRPC's clients")
		for _, tr := range resp.GetTrials() {
			seen[tr.GetId()] = true
		}
		pages++
		if list.PageToken = resp.GetNextPageToken(); list.PageToken == "" {
			break
		}
	}
	assert.Len(t, seen, trials)
	assert.Equal(t, 4, pages, "two outcomes of one MiB fit into a page, three do not")

	list.PageToken = "nonsense"
	_, err = s.ListTrials(t.Context(), list)
	assert.Equal(t, codes.InvalidArgument, status.Code(err))
}

// When the store fails, calls fail with a code on which they are repeated, and reported results are not lost.
func TestStoreFails(t *testing.T) {
	st := &failing{Store: memory.New()}
	s := coordinator.New(coordinator.Config{Store: st})
	sub, err := s.SubmitCampaign(t.Context(), submission(1))
	require.NoError(t, err)
	runner := &misstepv1.Runner{Id: "r", Slots: 1}
	leased, err := s.Synchronize(t.Context(), &misstepv1.SynchronizeRequest{Runner: runner, FreeSlots: 1})
	require.NoError(t, err)
	report := &misstepv1.SynchronizeRequest{Runner: runner, Held: []*misstepv1.HeldLease{
		{
			LeaseId: leased.GetDesired()[0].GetId(),
			State:   &misstepv1.HeldLease_Outcome{Outcome: &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN}},
		},
	}}
	st.err = errors.New("the disk is full")
	_, err = s.Synchronize(t.Context(), report)
	assert.Equal(t, codes.Unavailable, status.Code(err))
	require.ErrorContains(t, err, "the disk is full")
	st.err = nil
	_, err = s.Synchronize(t.Context(), report)
	require.NoError(t, err)
	got, err := s.GetCampaign(t.Context(), &misstepv1.GetCampaignRequest{CampaignId: sub.GetCampaignId()})
	require.NoError(t, err)
	assert.EqualValues(t, 1, got.GetCampaign().GetOutcomes()["clean"])
}
