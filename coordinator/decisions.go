package coordinator

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/access"
	"misstep/coordinator/store"
	"misstep/coordinator/view"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
	"misstep/triage"
)

const (
	maxFits    = 5    // older findings listed in fits of a new one
	maxNearest = 5    // neighbours in an answer
	maxReason  = 1024 // bytes of a decision's reason
)

// findFinding returns the id of a stored finding from an unambiguous prefix of it, or from an id that its signature had in an older
// version.
func findFinding(g view.Groups, prefix string) (string, error) {
	if _, ok := g.Rows[prefix]; ok {
		return prefix, nil
	}
	ids := make([]string, 0, len(g.Rows))
	for id, row := range g.Rows {
		if slices.Contains(row.GetFormerIds(), prefix) || signature.HasID(row.GetSignature(), prefix) {
			return id, nil
		}
	}
	for id := range g.Rows {
		ids = append(ids, id)
	}
	return only(ids, "finding", prefix, func(id string) string { return id })
}

// MergeFindings implements the AdminService.
func (s *Server) MergeFindings(ctx context.Context, req *misstepv1.MergeFindingsRequest) (*misstepv1.MergeFindingsResponse, error) {
	d, err := s.decide(ctx, func(g view.Groups) (*misstepv1.TriageDecision, error) {
		from, err := findFinding(g, req.GetFindingId())
		if err != nil {
			return nil, err
		}
		into, err := findFinding(g, req.GetIntoId())
		if err != nil {
			return nil, err
		}
		if a, b := g.Rows[from].GetSignature().GetKind(), g.Rows[into].GetSignature().GetKind(); a != b {
			return nil, status.Errorf(codes.InvalidArgument, "%s is a %s and %s is a %s: "+
				"only findings of the same kind can be merged", from, a, into, b)
		}
		for _, id := range []string{from, into} {
			if err := refuseAssorted(g.Rows[id], "merged"); err != nil {
				return nil, err
			}
		}
		return &misstepv1.TriageDecision{
			Kind: triage.DecisionMerge, Finding: from, Into: g.Head(into), Reason: req.GetReason(),
		}, nil
	})
	return &misstepv1.MergeFindingsResponse{Decision: d}, err
}

// refuseAssorted returns an error if a finding is a bucket of assorted failures, which cannot be handled as one bug.
func refuseAssorted(f *misstepv1.Finding, handled string) error {
	reason, assorted := triage.Assorted(f.GetSignature())
	if !assorted {
		return nil
	}
	return status.Errorf(codes.FailedPrecondition, "%s holds assorted failures (%s) and cannot be %s as one bug: "+
		"look at its trials one by one", f.GetId(), reason, handled)
}

// SplitFinding implements the AdminService.
func (s *Server) SplitFinding(ctx context.Context, req *misstepv1.SplitFindingRequest) (*misstepv1.SplitFindingResponse, error) {
	d, err := s.decide(ctx, func(g view.Groups) (*misstepv1.TriageDecision, error) {
		id, err := findFinding(g, req.GetFindingId())
		if err != nil {
			return nil, err
		}
		return &misstepv1.TriageDecision{Kind: triage.DecisionSplit, Finding: id, Into: g.Head(id), Reason: req.GetReason()}, nil
	})
	return &misstepv1.SplitFindingResponse{Decision: d}, err
}

// NoteFinding implements the AdminService.
func (s *Server) NoteFinding(ctx context.Context, req *misstepv1.NoteFindingRequest) (*misstepv1.NoteFindingResponse, error) {
	d, err := s.decide(ctx, func(g view.Groups) (*misstepv1.TriageDecision, error) {
		id, err := findFinding(g, req.GetFindingId())
		if err != nil {
			return nil, err
		}
		return &misstepv1.TriageDecision{Kind: triage.DecisionNote, Finding: id, Reason: req.GetText()}, nil
	})
	return &misstepv1.NoteFindingResponse{Decision: d}, err
}

// decide records the proposed decision, if it changes something.
func (s *Server) decide(
	ctx context.Context, propose func(view.Groups) (*misstepv1.TriageDecision, error),
) (*misstepv1.TriageDecision, error) {
	var d *misstepv1.TriageDecision
	err := s.update(ctx, func(tx store.Tx, now time.Time) error {
		g, err := view.LoadGroups(tx)
		if err != nil {
			return err
		}
		if d, err = propose(g); err != nil {
			return err
		}
		if len(d.GetReason()) > maxReason {
			return status.Errorf(codes.InvalidArgument, "reason: expected at most %d bytes, got %d", maxReason, len(d.GetReason()))
		}
		if err := g.Check(d); err != nil {
			return status.Error(codes.InvalidArgument, err.Error())
		}
		before, err := tx.Decisions()
		if err != nil {
			return err
		}
		d.Made, d.MadeBy = timestamppb.New(now), access.From(ctx).Name
		if d.Id, err = tx.AddDecision(d); err != nil {
			return err
		}
		return stillHidden(tx, before, now)
	})
	if err != nil {
		return nil, err
	}
	s.config.Logger.InfoContext(ctx, "triage decision", slog.Uint64("decision", d.GetId()), slog.String("kind", d.GetKind()),
		slog.String("finding", d.GetFinding()), slog.String("into", d.GetInto()))
	return d, nil
}

// UndoDecision implements the AdminService.
func (s *Server) UndoDecision(ctx context.Context, req *misstepv1.UndoDecisionRequest) (*misstepv1.UndoDecisionResponse, error) {
	resp := &misstepv1.UndoDecisionResponse{}
	err := s.update(ctx, func(tx store.Tx, now time.Time) error {
		all, err := tx.Decisions()
		if err != nil {
			return err
		}
		for _, d := range slices.Backward(all) {
			switch {
			case req.GetDecisionId() == 0 && d.GetUndone() != nil || req.GetDecisionId() != 0 && d.GetId() != req.GetDecisionId():
				continue
			case d.GetUndone() != nil:
				return status.Errorf(codes.FailedPrecondition, "decision %d was undone at %s", d.GetId(),
					d.GetUndone().AsTime().Format(time.DateTime))
			}
			resp.Decision = proto.CloneOf(d)
			resp.Decision.Undone, resp.Decision.UndoneBy = timestamppb.New(now), access.From(ctx).Name
			if err := tx.PutDecision(resp.GetDecision()); err != nil {
				return err
			}
			return stillHidden(tx, all, now)
		}
		if req.GetDecisionId() == 0 {
			return status.Error(codes.NotFound, "there is no decision to undo")
		}
		return status.Errorf(codes.NotFound, "no decision has the number %d; `misstep findings decisions` shows the numbers", req.GetDecisionId())
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// ListDecisions implements the AdminService.
func (s *Server) ListDecisions(ctx context.Context, _ *misstepv1.ListDecisionsRequest) (*misstepv1.ListDecisionsResponse, error) {
	resp := &misstepv1.ListDecisionsResponse{}
	err := s.read(ctx, func(tx store.Tx, _ time.Time) (err error) {
		resp.Decisions, err = tx.Decisions()
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}
