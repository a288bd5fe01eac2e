package coordinator

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/access"
	"misstep/coordinator/store"
	"misstep/coordinator/store/scoped"
	"misstep/coordinator/view"
	"misstep/coordinator/visibility"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/triage"
)

const (
	maxPeople    = 100
	maxEmbargo   = 5 * 366 * 24 * time.Hour
	maxCallerLen = 200 // bytes of a name
)

// seenBy returns the transaction of a call in its project: one in which the findings that are hidden from the caller are not there.
// Triagers and admins see all of them.
func seenBy(
	ctx context.Context, whole store.Tx, now time.Time, see func(*scoped.Tx, visibility.Reader, time.Time) *scoped.Seen,
) store.Tx {
	tx := scoped.In(whole, access.Project(ctx))
	if access.From(ctx).May(misstepv1.Role_ROLE_TRIAGER, access.Project(ctx)) {
		return tx
	}
	return see(tx, visibility.Reader{Name: access.Reader(ctx)}, now)
}

// SetVisibility implements the AdminService.
func (s *Server) SetVisibility(ctx context.Context, req *misstepv1.SetVisibilityRequest) (*misstepv1.SetVisibilityResponse, error) {
	resp := &misstepv1.SetVisibilityResponse{}
	err := s.update(ctx, func(tx store.Tx, now time.Time) error {
		if err := checkVisibility(req, now); err != nil {
			return err
		}
		g, err := view.LoadGroups(tx)
		if err != nil {
			return err
		}
		id, err := findFinding(g, req.GetFindingId())
		if err != nil {
			return err
		}
		id = g.Head(id)
		for _, one := range append(g.Aliases(id), id) {
			if err := tx.DeleteVisibility(one); err != nil {
				return err
			}
		}
		if req.GetVisibility() == misstepv1.Visibility_VISIBILITY_UNSPECIFIED {
			resp.Visibility = nil
			return nil
		}
		resp.Visibility = &misstepv1.FindingVisibility{
			FindingId: id, Visibility: req.GetVisibility(), Until: req.GetUntil(), People: req.GetPeople(), Reason: req.GetReason(),
			SetBy: access.From(ctx).Name, Set: timestamppb.New(now),
		}
		return tx.PutVisibility(resp.GetVisibility())
	})
	if err != nil {
		return nil, err
	}
	s.config.Logger.InfoContext(ctx, "visibility of a finding", slog.String("finding", req.GetFindingId()),
		slog.String("visibility", req.GetVisibility().String()))
	return resp, nil
}

// hideNew makes a new finding private if the campaign that shows it wants that.
func hideNew(tx store.Tx, campaign, finding string, now time.Time) error {
	c, err := tx.Campaign(campaign)
	if err != nil || !c.Submission.GetCampaign().GetPrivateFindings() {
		return err
	}
	return tx.PutVisibility(&misstepv1.FindingVisibility{
		FindingId: finding, Visibility: misstepv1.Visibility_VISIBILITY_PRIVATE, Reason: "private_findings of campaign " + campaign,
		SetBy: c.Owner, Set: timestamppb.New(now),
	})
}

func checkVisibility(req *misstepv1.SetVisibilityRequest, now time.Time) error {
	wrong := func(field, format string, args ...any) error {
		return status.Errorf(codes.InvalidArgument, field+": "+format, args...)
	}
	embargo := req.GetVisibility() == misstepv1.Visibility_VISIBILITY_EMBARGOED
	hides := embargo || req.GetVisibility() == misstepv1.Visibility_VISIBILITY_PRIVATE
	until := req.GetUntil()
	switch {
	case misstepv1.Visibility_name[int32(req.GetVisibility())] == "":
		return wrong("visibility", "unknown value %d", req.GetVisibility())
	case !embargo && until != nil:
		return wrong("until", "only an embargo has an end")
	case embargo && (until == nil || until.CheckValid() != nil || !until.AsTime().After(now) ||
		until.AsTime().Sub(now) > maxEmbargo):
		return wrong("until", "expected the end of the embargo, in the future and at most five years away")
	case !hides && len(req.GetPeople()) > 0:
		return wrong("people", "only those who see a private or embargoed finding are named")
	case len(req.GetPeople()) > maxPeople:
		return wrong("people", "expected at most %d names, got %d", maxPeople, len(req.GetPeople()))
	case len(req.GetReason()) > maxReason:
		return wrong("reason", "expected at most %d bytes, got %d", maxReason, len(req.GetReason()))
	}
	for _, p := range req.GetPeople() {
		if p == "" || len(p) > maxCallerLen {
			return wrong("people", "expected names of 1 to %d bytes, got one of %d", maxCallerLen, len(p))
		}
	}
	return nil
}

// stillHidden makes sure that a decision about which findings are the same shows none that was hidden: what leaves a group
// takes along what was in force about it.
func stillHidden(tx store.Tx, before []*misstepv1.TriageDecision, now time.Time) error {
	all, err := tx.Visibilities()
	if len(all) == 0 || err != nil {
		return err
	}
	decisions, err := tx.Decisions()
	if err != nil {
		return err
	}
	was, is := triage.NewGrouping(before), triage.NewGrouping(decisions)
	wasSeen, isSeen := visibility.New(all, was, now), visibility.New(all, is, now)
	for _, decided := range all {
		head := was.Head(decided.GetFindingId())
		for _, id := range append(was.Aliases(head), head) {
			v := wasSeen.Of(id)
			if !visibility.Hidden(v, now) || visibility.Hidden(isSeen.Of(id), now) {
				continue
			}
			v = proto.CloneOf(v)
			v.FindingId = id
			if err := tx.PutVisibility(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// mark fills in what is in force about the visibility of findings after merges.
func mark(tx store.Tx, now time.Time, findings ...*misstepv1.Finding) error {
	all, err := tx.Visibilities()
	if len(all) == 0 || err != nil {
		return err
	}
	decisions, err := tx.Decisions()
	if err != nil {
		return err
	}
	s := visibility.New(all, triage.NewGrouping(decisions), now)
	for _, f := range findings {
		f.Visibility = s.Of(f.GetId())
	}
	return nil
}
