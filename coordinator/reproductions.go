package coordinator

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/access"
	"misstep/coordinator/queue"
	"misstep/coordinator/store"
	"misstep/coordinator/view"
	"misstep/internal/interval"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// StartReproduction implements the AdminService.
func (s *Server) StartReproduction(
	ctx context.Context, req *misstepv1.StartReproductionRequest,
) (*misstepv1.StartReproductionResponse, error) {
	if err := checkReproduction(req); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	resp := &misstepv1.StartReproductionResponse{ReproductionId: s.newID(store.ReproductionPrefix, 6)}
	err := s.update(ctx, func(tx store.Tx, now time.Time) error {
		g, err := view.LoadGroups(tx)
		if err != nil {
			return err
		}
		id, err := findFinding(g, req.GetFindingId())
		if err != nil {
			return err
		}
		id = g.Head(id)
		if err := refuseAssorted(g.Rows[id], "reproduced"); err != nil {
			return err
		}
		existing, err := reproductionFor(tx, g, id, req)
		if err != nil {
			return err
		}
		if existing != "" {
			resp.ReproductionId, resp.Existing = existing, true
			return nil
		}
		f := g.Rows[id]
		if f.GetExampleRecipe() == nil {
			return status.Errorf(codes.FailedPrecondition, "finding %s has no recipe to start from", id)
		}
		for _, p := range applicable(req.GetPerturbations(), f.GetExampleRecipe()) {
			need := recipe.NeededCapability(f.GetExampleRecipe().GetExecutor(), p)
			if need != recipe.NoCapability && s.live.lacks(need) {
				return status.Errorf(codes.FailedPrecondition, "perturbations: %s needs %s, which no connected runner has",
					p.GetStrategy(), need)
			}
		}
		spec := &misstepv1.ReproductionSpec{
			FindingId: id, Signature: f.GetSignature(), Recipe: f.GetExampleRecipe(), Builds: req.GetBuilds(),
			Perturbations: applicable(req.GetPerturbations(), f.GetExampleRecipe()),
			Methods:       methodsOf(f), Instrumented: req.GetInstrumented(), Seed: req.GetSeed(),
		}
		spec.Trials, spec.Time = budget(req)
		spec.Instrumented = slices.DeleteFunc(slices.Clone(spec.GetInstrumented()),
			func(m string) bool { return slices.Contains(spec.GetMethods(), m) })
		if req.GetAgentDigest() != "" {
			spec.Recipe.AgentDigest = req.GetAgentDigest()
		}
		if err := queue.Begin(tx, &store.Campaign{
			ID: resp.GetReproductionId(), Owner: access.From(ctx).Name, Probes: true,
			State: misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING, Submitted: now, Tally: &misstepv1.CampaignStatus{},
			Submission: &misstepv1.SubmitCampaignRequest{
				Campaign: &misstepv1.Campaign{Name: "reproduce-" + id}, AgentDigest: spec.GetRecipe().GetAgentDigest(),
			},
		}); err != nil {
			return err
		}
		return s.continueReproduction(tx, &misstepv1.Reproduction{
			Id: resp.GetReproductionId(), Spec: spec, State: misstepv1.ReproductionState_REPRODUCTION_STATE_RUNNING,
			Started: timestamppb.New(now),
		}, now)
	})
	if err != nil {
		return nil, err
	}
	s.config.Logger.InfoContext(ctx, "reproduction started", slog.String("reproduction", resp.GetReproductionId()),
		slog.String("finding", req.GetFindingId()))
	return resp, nil
}

// GetReproduction implements the AdminService.
func (s *Server) GetReproduction(
	ctx context.Context, req *misstepv1.GetReproductionRequest,
) (*misstepv1.GetReproductionResponse, error) {
	resp := &misstepv1.GetReproductionResponse{}
	err := s.read(ctx, func(tx store.Tx, now time.Time) error {
		r, err := findReproduction(tx, req.GetReproductionId())
		if err != nil {
			return err
		}
		resp.Reproduction, err = s.view.Reproduction(tx, r, now)
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// ListReproductions implements the AdminService.
func (s *Server) ListReproductions(
	ctx context.Context, req *misstepv1.ListReproductionsRequest,
) (*misstepv1.ListReproductionsResponse, error) {
	resp := &misstepv1.ListReproductionsResponse{}
	err := s.read(ctx, func(tx store.Tx, now time.Time) (err error) {
		finding := req.GetFindingId()
		if finding != "" {
			g, err := view.LoadGroups(tx)
			if err != nil {
				return err
			}
			if finding, err = findFinding(g, finding); err != nil {
				return err
			}
		}
		resp.Reproductions, err = s.view.Reproductions(tx, finding, now)
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// CancelReproduction implements the AdminService.
func (s *Server) CancelReproduction(
	ctx context.Context, req *misstepv1.CancelReproductionRequest,
) (*misstepv1.CancelReproductionResponse, error) {
	err := s.update(ctx, func(tx store.Tx, now time.Time) error {
		r, err := findReproduction(tx, req.GetReproductionId())
		if err != nil || r.GetState() != misstepv1.ReproductionState_REPRODUCTION_STATE_RUNNING {
			return err
		}
		r.State = misstepv1.ReproductionState_REPRODUCTION_STATE_CANCELLED
		return s.endReproduction(tx, r, now)
	})
	if err != nil {
		return nil, err
	}
	return &misstepv1.CancelReproductionResponse{}, nil
}

// RecordClean implements the AdminService.
func (s *Server) RecordClean(ctx context.Context, req *misstepv1.RecordCleanRequest) (*misstepv1.RecordCleanResponse, error) {
	hits, tries := req.GetClean().GetHits(), req.GetClean().GetTries()
	if hits > tries || tries == 0 {
		return nil, status.Errorf(codes.InvalidArgument,
			"clean: expected at least one try and no more hits than tries, got %d hits in %d tries", hits, tries)
	}
	err := s.update(ctx, func(tx store.Tx, _ time.Time) error {
		r, err := findReproduction(tx, req.GetReproductionId())
		if err != nil {
			return err
		}
		if r.GetReproducer() == nil {
			return status.Errorf(codes.FailedPrecondition, "reproduction %s has no reproducer", r.GetId())
		}
		low, high := interval.Wilson(uint64(hits), uint64(tries))
		r.Reproducer.Clean = &misstepv1.Reliability{Hits: hits, Tries: tries, Low: low, High: high}
		return tx.PutReproduction(r)
	})
	if err != nil {
		return nil, err
	}
	return &misstepv1.RecordCleanResponse{}, nil
}

func findReproduction(tx store.Tx, id string) (*misstepv1.Reproduction, error) {
	if r, err := tx.Reproduction(id); err == nil || !errors.Is(err, store.ErrNotFound) {
		return r, err
	}
	all, err := tx.Reproductions(false)
	if err != nil {
		return nil, err
	}
	return only(all, "reproduction", id, (*misstepv1.Reproduction).GetId)
}
