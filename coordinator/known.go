package coordinator

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/access"
	"misstep/coordinator/projects"
	"misstep/coordinator/store"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
)

// Bounds of a store's own catalogue.
const (
	maxKnownRequest = 1 << 20
	maxKnownBugs    = 10_000
)

// PutKnownBugs implements the AdminService.
func (s *Server) PutKnownBugs(ctx context.Context, req *misstepv1.PutKnownBugsRequest) (*misstepv1.PutKnownBugsResponse, error) {
	if n := proto.Size(req); n > maxKnownRequest {
		return nil, status.Errorf(codes.InvalidArgument, "expected a request of at most %d bytes, got %d", maxKnownRequest, n)
	}
	if _, err := known.Own(req.GetBugs()); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	for i, b := range req.GetBugs() {
		if projects.IsKey(b.GetId()) {
			return nil, status.Errorf(codes.InvalidArgument, "known bug %d (%q): its id must not begin with @", i, clip(b.GetId()))
		}
	}
	resp := &misstepv1.PutKnownBugsResponse{Warnings: known.AllWarnings(req.GetBugs())}
	err := s.update(ctx, func(tx store.Tx, now time.Time) error {
		for _, b := range req.GetBugs() {
			b = proto.CloneOf(b)
			b.Added, b.AddedBy = timestamppb.New(now), access.From(ctx).Name
			if err := tx.PutKnownBug(b); err != nil {
				return err
			}
		}
		all, err := tx.KnownBugs()
		if err == nil && len(all) > maxKnownBugs {
			return status.Errorf(codes.InvalidArgument, "expected at most %d known bugs, the store would have %d", maxKnownBugs,
				len(all))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// RemoveKnownBug implements the AdminService.
func (s *Server) RemoveKnownBug(
	ctx context.Context, req *misstepv1.RemoveKnownBugRequest,
) (*misstepv1.RemoveKnownBugResponse, error) {
	err := s.update(ctx, func(tx store.Tx, _ time.Time) error {
		all, err := tx.KnownBugs()
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(b *misstepv1.KnownBug) bool { return b.GetId() == req.GetBugId() }) {
			return status.Errorf(codes.NotFound, "the store has no known bug %q of its own; `misstep known list` shows those it has",
				clip(req.GetBugId()))
		}
		return tx.DeleteKnownBug(req.GetBugId())
	})
	if err != nil {
		return nil, err
	}
	return &misstepv1.RemoveKnownBugResponse{}, nil
}

// ListKnownBugs implements the AdminService.
func (s *Server) ListKnownBugs(ctx context.Context, _ *misstepv1.ListKnownBugsRequest) (*misstepv1.ListKnownBugsResponse, error) {
	resp := &misstepv1.ListKnownBugsResponse{}
	err := s.read(ctx, func(tx store.Tx, _ time.Time) (err error) {
		resp.Bugs, err = tx.KnownBugs()
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}
