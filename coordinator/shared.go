package coordinator

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/coordinator/access"
	"misstep/coordinator/projects"
	"misstep/coordinator/store"
	"misstep/coordinator/store/scoped"
	"misstep/coordinator/view"
	"misstep/coordinator/visibility"
	misstepv1 "misstep/proto/misstep/v1"
)

// abroad returns a transaction in another project than the call's, as somebody who has no role there sees it.
func abroad(ctx context.Context, whole store.Tx, project string, now time.Time) *scoped.Seen {
	return scoped.See(scoped.In(whole, project), visibility.Reader{Name: access.Reader(ctx), Abroad: true}, now)
}

// foreign makes findings that another project shares fit for others: they name what only their project has.
func foreign(project string, findings ...*misstepv1.Finding) {
	for _, f := range findings {
		f.Project, f.Campaigns, f.ReportedBy = project, nil, nil
		if v := f.GetVisibility(); v != nil {
			f.Visibility = &misstepv1.FindingVisibility{
				FindingId: v.GetFindingId(), Visibility: v.GetVisibility(), Until: v.GetUntil(),
			}
		}
	}
}

// listShared lists the findings of all projects but the call's that are shared, or that name the caller.
func (s *Server) listShared(ctx context.Context, req *misstepv1.ListFindingsRequest) (*misstepv1.ListFindingsResponse, error) {
	if err := checkSelection(req); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	if req.GetCampaignId() != "" {
		return nil, status.Error(codes.InvalidArgument, "campaign_id: other projects' campaigns are not shared")
	}
	resp := &misstepv1.ListFindingsResponse{}
	err := s.readWhole(ctx, func(whole store.Tx, now time.Time) error {
		visible, err := whole.Visibilities()
		if err != nil {
			return err
		}
		var all []*misstepv1.Finding
		resp.Total = 0
		for _, project := range projects.Of(visible, (*misstepv1.FindingVisibility).GetFindingId) {
			if project == access.Project(ctx) {
				continue
			}
			tx := abroad(ctx, whole, project, now)
			found, err := s.view.Findings(tx, selectionOf(req, now))
			if err != nil {
				return err
			}
			for _, f := range found.All {
				found.Fill(f) // while its campaigns are known
			}
			if err := mark(tx, now, found.All...); err != nil {
				return err
			}
			foreign(project, found.All...)
			all, resp.Total = append(all, found.All...), resp.Total+uint64(found.Total)
		}
		view.OrderFindings(all, req.GetSort())
		resp.Findings, resp.NextPageToken, err = page(view.List[*misstepv1.Finding]{All: all}, req)
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// sharedFinding returns a finding that another project shares, or in which it names the caller.
func (s *Server) sharedFinding(ctx context.Context, req *misstepv1.GetFindingRequest) (f *misstepv1.Finding, err error) {
	if err := projects.Check(req.GetProject()); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "project: %v", err)
	}
	err = s.readWhole(ctx, func(whole store.Tx, now time.Time) error {
		tx := abroad(ctx, whole, req.GetProject(), now)
		if f, err = s.finding(tx, req.GetFindingId(), now); err == nil {
			foreign(req.GetProject(), f)
		}
		return err
	})
	return f, err
}
