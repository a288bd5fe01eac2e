package coordinator

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"misstep/coordinator/store"
	"misstep/coordinator/view"
	"misstep/internal/suggest"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/signature"
)

// ListFindings implements the AdminService.
func (s *Server) ListFindings(ctx context.Context, req *misstepv1.ListFindingsRequest) (*misstepv1.ListFindingsResponse, error) {
	resp := &misstepv1.ListFindingsResponse{}
	if req.GetShared() {
		return s.listShared(ctx, req)
	}
	err := s.list(ctx, req, func(tx store.Tx, selection view.Selection, now time.Time) error {
		all, err := s.view.Findings(tx, selection)
		if err != nil {
			return err
		}
		resp.Total, resp.JdkTrials = uint64(all.Total), all.JDKTrials
		if resp.Findings, resp.NextPageToken, err = page(all, req); err != nil {
			return err
		}
		return mark(tx, now, resp.GetFindings()...)
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// ListBugs implements the AdminService.
func (s *Server) ListBugs(ctx context.Context, req *misstepv1.ListBugsRequest) (*misstepv1.ListBugsResponse, error) {
	resp := &misstepv1.ListBugsResponse{}
	if req.GetFindings().GetShared() {
		return nil, status.Error(codes.InvalidArgument, "shared: findings of other projects are listed one by one, by ListFindings")
	}
	err := s.list(ctx, req.GetFindings(), func(tx store.Tx, selection view.Selection, _ time.Time) error {
		all, err := s.view.Bugs(tx, selection)
		if err != nil {
			return err
		}
		resp.Total, resp.History, resp.JdkTrials = uint64(all.Total), all.History, all.JDKTrials
		resp.Bugs, resp.NextPageToken, err = page(all, req.GetFindings())
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// list reads with the selection that a request asks for.
func (s *Server) list(
	ctx context.Context, req *misstepv1.ListFindingsRequest, f func(store.Tx, view.Selection, time.Time) error,
) error {
	if err := checkSelection(req); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	return s.read(ctx, func(tx store.Tx, now time.Time) error {
		selection := selectionOf(req, now)
		if req.GetCampaignId() != "" {
			c, err := findCampaign(tx, req.GetCampaignId())
			if err != nil {
				return err
			}
			selection.Campaign = c.ID
		}
		return f(tx, selection, now)
	})
}

// selectionOf returns what a request selects, but for a campaign.
func selectionOf(req *misstepv1.ListFindingsRequest, now time.Time) view.Selection {
	selection := view.Selection{
		Kind: req.GetKind(), Check: req.GetCheck(), JDK: req.GetJdk(), Status: req.GetStatus(),
		Bug: req.GetBug(), State: req.GetState(), Doubted: req.GetDoubted(),
		Sort: req.GetSort(),
	}
	if req.GetSince() != nil {
		selection.SeenSince = now.Add(-req.GetSince().AsDuration())
	}
	return selection
}

// checkSelection returns which field of a request is wrong.
func checkSelection(req *misstepv1.ListFindingsRequest) error {
	var checks []string
	for _, c := range recipe.Checks() {
		checks = append(checks, c.Name)
	}
	for _, field := range []struct {
		name, value string
		allowed     []string
	}{
		{"kind", req.GetKind(), signature.Kinds},
		{"check", req.GetCheck(), checks},
		{"status", req.GetStatus(), []string{view.StatusNew, view.StatusKnown}},
		{"state", req.GetState(), []string{misstepv1.StateQuiet, misstepv1.StateBack}},
		{"sort", req.GetSort(), view.Sorts()},
	} {
		if field.value != "" && !slices.Contains(field.allowed, field.value) {
			return fmt.Errorf("%s: unknown value %s%s", field.name, suggest.Quote(field.value),
				suggest.Among(field.value, field.allowed))
		}
	}
	if d := req.GetSince(); d != nil && (d.CheckValid() != nil || d.AsDuration() <= 0) {
		return fmt.Errorf("since: expected a duration above 0, got %v", d.AsDuration())
	}
	return nil
}

// page returns the part of a list that a request asks for, and the token of the next part. A token is the number of elements before
// it: lists are made anew for each call.
func page[M proto.Message](list view.List[M], req *misstepv1.ListFindingsRequest) (part []M, next string, err error) {
	all, start := list.All, 0
	if t := req.GetPageToken(); t != "" {
		n, err := strconv.ParseUint(t, 10, 31)
		if err != nil {
			return nil, "",
				status.Errorf(codes.InvalidArgument, "page_token: expected the next_page_token of a response, got %q", clip(t))
		}
		start = min(int(n), len(all))
	}
	bytes := 0
	for _, m := range all[start:] {
		if list.Fill != nil {
			list.Fill(m)
		}
		bytes += proto.Size(m)
		if len(part) > 0 && (bytes > maxPageBytes || req.GetPageSize() > 0 && len(part) >= int(req.GetPageSize())) {
			return part, strconv.Itoa(start + len(part)), nil
		}
		part = append(part, m)
	}
	return part, "", nil
}
