package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/plausible"
	"misstep/coordinator/projects"
	"misstep/coordinator/queue"
	"misstep/coordinator/store"
	"misstep/coordinator/store/scoped"
	"misstep/internal/logctx"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/triage"
)

// Synchronize implements the LeaseService.
func (s *Server) Synchronize(ctx context.Context, req *misstepv1.SynchronizeRequest) (*misstepv1.SynchronizeResponse, error) {
	if err := checkSynchronize(req); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	runner := s.reporterOf(ctx, req.GetRunner())
	me := runner.holder()
	ctx = logctx.With(ctx, slog.String("runner", me))
	called := s.config.Clock()
	var (
		desired   []*store.Lease
		granted   []*store.Lease
		results   []string // kinds
		running   map[string]*misstepv1.Progress
		withdrawn []string
		dropped   map[string]int // by reason
		compared  []heard
		claimed   []*misstepv1.Evidence
		now       time.Time
		drain     bool
	)
	s.excuse(runner, req)
	reports := s.judge(runner, req)
	may, heldBack := s.mayHold(runner, called)
	err := s.updateFor(ctx, me, func(tx store.Tx, at time.Time) error {
		now, drain = at, s.isDraining() || s.drained.of(me) != nil
		desired, granted, results, withdrawn, dropped = nil, nil, nil, nil, map[string]int{}
		compared, claimed = nil, nil
		running = make(map[string]*misstepv1.Progress, len(req.GetHeld()))
		reported := make(map[string]bool, len(req.GetHeld()))
		if err := s.queue.ExpireOf(tx, me, called); err != nil {
			return err
		}
		own, err := leasesOf(tx, me)
		if err != nil {
			return err
		}
		for i, h := range req.GetHeld() {
			reported[h.GetLeaseId()] = true
			var l *store.Lease
			err := store.ErrNotFound
			if own[h.GetLeaseId()] { // a result before this one may have ended the campaign
				l, err = tx.Lease(h.GetLeaseId())
			}
			if errors.Is(err, store.ErrNotFound) {
				withdrawn = append(withdrawn, h.GetLeaseId())
				if h.GetRunning() == nil {
					dropped[NotHeld]++
				}
				s.noteLate(ctx, h)
				continue
			}
			if err != nil {
				return err
			}
			wanted, refused, err := s.report(ctx, tx, l, runner, &reports[i], now)
			if err != nil {
				return err
			}
			if refused != "" {
				dropped[refused]++
			}
			if runner.known() && !wanted {
				if one, counts := heardOf(l, reports[i], refused); counts {
					compared = append(compared, one)
				}
			}
			if kind, ended := kindOf(h); ended && refused == "" {
				results, claimed = append(results, kind), append(claimed, h.GetOutcome().GetEvidence()...)
			}
			if wanted {
				running[l.ID] = h.GetRunning()
			} else {
				withdrawn = append(withdrawn, l.ID)
			}
		}
		held, err := tx.Leases(store.LeaseFilter{Runner: me})
		if err != nil {
			return err
		}
		free := req.GetFreeSlots()
		for _, l := range held {
			if !reported[l.ID] {
				// The response that granted it was lost, so one of the slots that the runner reports as free is not.
				if free > 0 {
					free--
				}
				if err := s.queue.Renew(tx, l, now); err != nil {
					return err
				}
			}
		}
		free = uint32(min(uint64(free), may-min(may, uint64(len(held)))))
		desired = held
		if drain || s.trust.isAside(runner.owner) {
			return nil
		}
		asks := queue.Runner{ID: me, AgentDigest: runner.GetAgentDigest(), Capabilities: runner.GetCapabilities()}
		repeated, err := s.grantRepetition(tx, asks, free, now)
		if err != nil {
			return err
		}
		granted, err = s.queue.Grant(tx, asks, free-uint32(len(repeated)), s.quotas.get(), now)
		granted = append(repeated, granted...)
		desired = append(desired, granted...)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.count(len(granted), results, dropped)
	s.compare(ctx, runner, compared)
	s.holds(runner, len(desired), req.GetFreeSlots(), now)
	s.config.Unclaimed.Claim(runner.owner, claimed)
	s.live.saw(runner, req, heldBack, running, withdrawn, now, s.config.LeaseTime)
	waited := s.live.waited(s.config.Clock().Sub(called))
	resp := &misstepv1.SynchronizeResponse{NextCall: durationpb.New(s.nextCall(waited)), Drain: drain, HeldBack: heldBack}
	for _, l := range desired {
		_, campaign := projects.Split(l.Job.Campaign) // in which project is none of a runner's business
		campaign, _ = store.Repeated(campaign)        // nor that somebody ran it before
		resp.Desired = append(resp.Desired, &misstepv1.Lease{
			Id: l.ID, Recipe: l.Recipe, Deadline: timestamppb.New(l.Deadline), CampaignId: campaign, Trial: l.Job.Index,
		})
	}
	return resp, nil
}

// nextCall returns the time until a runner's next call: a multiple of the time that calls wait for the store now, so that a fleet
// calls as often as the store can take it, whatever it can take, and spends little of its time waiting. It keeps leases well away
// from their deadlines.
func (s *Server) nextCall(waited time.Duration) time.Duration {
	return min(max(s.config.SyncInterval, 8*waited), s.config.LeaseTime/4)
}

// report is what a runner says about a lease.
type report struct {
	*misstepv1.HeldLease
	// hits are the findings that its outcome shows, and outcome what is stored of it.
	hits    []triage.Hit
	outcome *misstepv1.Outcome
	// encoded is the outcome in its binary form.
	encoded []byte
	// malformed is why the outcome cannot be recorded.
	malformed error
	// first is what the outcome is compared with, if it is that of a repetition.
	first *misstepv1.Repetition
	// agent is the digest of the runner's agent.
	agent string
}

// leasesOf returns the ids of the leases of a runner.
func leasesOf(tx store.Tx, holder string) (map[string]bool, error) {
	all, err := tx.Leases(store.LeaseFilter{Runner: holder})
	own := make(map[string]bool, len(all))
	for _, l := range all {
		own[l.ID] = true
	}
	return own, err
}

// excuse takes failed trials as handed back while their owner may write no more evidence: that of theirs may have been refused,
// which says nothing about them and not much about the owner.
func (s *Server) excuse(runner reporter, req *misstepv1.SynchronizeRequest) {
	if runner.receipts == nil || s.config.Unclaimed.Short(runner.owner, plausible.MostEvidence) == nil {
		return
	}
	for _, h := range req.GetHeld() {
		if f := h.GetFailure(); f != nil {
			f.Interrupted = true
		}
	}
}

// judge does for all reports what needs no transaction.
func (s *Server) judge(runner reporter, req *misstepv1.SynchronizeRequest) []report {
	all := make([]report, len(req.GetHeld()))
	for i, h := range req.GetHeld() {
		r := report{HeldLease: h, agent: runner.GetAgentDigest()}
		if o := h.GetOutcome(); o != nil {
			if r.malformed = checkOutcome(o); r.malformed == nil {
				r.hits = triage.Triage(o)
				r.outcome = runner.stored(triage.Slim(o, r.hits), len(r.hits))
				r.encoded, r.malformed = proto.Marshal(r.outcome)
			}
		}
		all[i] = r
	}
	return all
}

// count tells the metrics what a call did.
func (s *Server) count(granted int, results []string, dropped map[string]int) {
	if granted > 0 {
		s.config.Metrics.Granted(granted)
	}
	for _, kind := range results {
		s.config.Metrics.Result(kind)
	}
	for reason, n := range dropped {
		s.config.Metrics.Dropped(reason, n)
	}
}

// report applies what a runner reports about its own live lease, in the project of its campaign; wanted reports whether the runner
// should continue with it, refused why its outcome is not recorded.
func (s *Server) report(
	ctx context.Context, tx store.Tx, l *store.Lease, runner reporter, r *report, now time.Time,
) (wanted bool, refused string, err error) {
	whole, held := tx, l
	tx, l = scoped.Enter(tx, l)
	campaign, repeats := store.Repeated(l.Job.Campaign)
	ctx = logctx.With(ctx, slog.String("campaign", campaign), slog.Uint64("trial", l.Job.Index), slog.String("lease", l.ID))
	fail := func(f *misstepv1.InfrastructureFailure) error {
		if repeats {
			return s.queue.FailRepetition(whole, held, f.GetInterrupted())
		}
		return s.queue.Fail(tx, l, f, now)
	}
	why, reason := r.malformed, Malformed
	if why == nil && r.outcome != nil {
		why, reason = runner.unfit(l, *r), Unfit
	}
	switch {
	case why != nil:
		s.config.Logger.WarnContext(ctx, "outcome refused", slog.String("reason", reason), slog.Any("error", why))
		return false, reason, fail(runner.failure(&misstepv1.InfrastructureFailure{
			Message: fmt.Sprintf("the runner reported %s outcome: %v", article(reason), why), Permanent: true,
		}))
	case r.outcome != nil && repeats:
		return false, "", s.completeRepetition(ctx, whole, held, r, now)
	case r.outcome != nil:
		if err := s.complete(ctx, tx, l, *r, now); err != nil {
			return false, "", err
		}
		return false, "", s.drawRepetition(whole, held, runner, *r, now)
	case r.GetFailure() != nil:
		f := runner.failure(clipFailure(r.GetFailure()))
		kind, _ := kindOf(r.HeldLease)
		s.config.Logger.InfoContext(ctx, "trial without an outcome", slog.String("kind", kind),
			slog.String("message", f.GetMessage()))
		return false, "", fail(f)
	default:
		return true, "", s.queue.Renew(tx, l, now)
	}
}

func article(reason string) string {
	if reason == Unfit {
		return "an " + reason
	}
	return "a " + reason
}

// complete records an outcome: the findings it hits, its share of the tally, and the trial itself.
func (s *Server) complete(ctx context.Context, tx store.Tx, l *store.Lease, r report, now time.Time) error {
	ids, err := s.hitAll(ctx, tx, l, r, now)
	if err != nil {
		return err
	}
	return s.queue.Complete(tx, l, queue.Result{Outcome: r.outcome, Encoded: r.encoded, FindingIDs: ids}, now)
}

// noteLate logs a result that nobody waits for: either it was recorded before and the acknowledgement was lost, or its lease was
// lost.
func (s *Server) noteLate(ctx context.Context, h *misstepv1.HeldLease) {
	if h.GetRunning() == nil {
		s.config.Logger.InfoContext(ctx, "result of a lease that is not live", slog.String("lease", h.GetLeaseId()))
	}
}
