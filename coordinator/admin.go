package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"misstep/coordinator/access"
	"misstep/coordinator/campaign"
	"misstep/coordinator/projects"
	"misstep/coordinator/queue"
	"misstep/coordinator/store"
	"misstep/coordinator/view"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

const (
	maxSubmission   = 4 << 20
	defaultPageSize = 200
	maxPageSize     = 1000
	maxPageBytes    = 3 << 20
)

// SubmitCampaign implements the AdminService.
func (s *Server) SubmitCampaign(
	ctx context.Context, req *misstepv1.SubmitCampaignRequest,
) (*misstepv1.SubmitCampaignResponse, error) {
	if err := checkSubmission(req, s.config.Strategies); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	spec, err := ofProject(ctx, req.GetCampaign())
	if err != nil {
		return nil, err
	}
	if spec != req.GetCampaign() {
		req = proto.CloneOf(req)
		req.Campaign = spec
	}
	id := s.newID("C", 6)
	resp := &misstepv1.SubmitCampaignResponse{}
	err = s.update(ctx, func(tx store.Tx, now time.Time) error {
		resp.Reset()
		if err := admitted(ctx, tx); err != nil {
			return err
		}
		req, used, _, err := resolve(tx, req)
		if err != nil {
			return err
		}
		resp.CampaignId, resp.FromCatalogue = id, resolvedNames(used)
		return startCampaign(tx, &store.Campaign{ID: id, Owner: access.From(ctx).Name, Submission: req, Submitted: now}, used)
	})
	if err != nil {
		return nil, err
	}
	name := req.GetCampaign().GetName()
	s.config.Logger.InfoContext(ctx, "campaign submitted", slog.String("campaign", id), slog.String("name", name))
	return resp, nil
}

func checkSubmission(req *misstepv1.SubmitCampaignRequest, strategies []campaign.Strategy) error {
	if size := proto.Size(req); size > maxSubmission {
		return errors.New("expected a submission of at most " + strconv.Itoa(maxSubmission) + " bytes, got " +
			strconv.Itoa(size))
	}
	if req.GetCampaign() == nil {
		return errors.New("campaign: is required")
	}
	if req.GetScheduleId() != "" {
		return errors.New("schedule_id: expected nothing: the coordinator sets it")
	}
	if n := len(req.GetTraceParent()); n > maxID {
		return fmt.Errorf("trace_parent: expected at most %d bytes, got %d", maxID, n)
	}
	v := campaign.Validate(req.GetCampaign())
	if len(v) == 0 {
		v = campaign.Resolve(req.GetCampaign(), campaign.Names{Strategies: strategies})
	}
	if err := violated(v); err != nil {
		return err
	}
	for i, j := range req.GetJdks() {
		if !isDigest(j.GetDigest()) {
			return fmt.Errorf("jdks[%d].digest: expected sha256: and 64 hex digits for %q", i, clip(j.GetName()))
		}
	}
	for i, w := range req.GetWorkloads() {
		if !isDigest(w.GetDigest()) {
			return fmt.Errorf("workloads[%d].digest: expected sha256: and 64 hex digits for %q", i, clip(w.GetName()))
		}
	}
	if d := req.GetAgentDigest(); d != "" && !isDigest(d) {
		return errors.New("agent_digest: expected sha256: and 64 hex digits, got " + strconv.Quote(clip(d)))
	}
	return nil
}

// violated returns an error that lists violations, one a line; nil for none.
func violated(all []recipe.Violation) error {
	if len(all) == 0 {
		return nil
	}
	lines := make([]string, len(all))
	for i := range all {
		lines[i] = all[i].String()
	}
	return errors.New(strings.Join(lines, "\n"))
}

// ListCampaigns implements the AdminService.
func (s *Server) ListCampaigns(ctx context.Context, _ *misstepv1.ListCampaignsRequest) (*misstepv1.ListCampaignsResponse, error) {
	resp := &misstepv1.ListCampaignsResponse{}
	err := s.read(ctx, func(tx store.Tx, now time.Time) (err error) {
		resp.Campaigns, err = s.view.Campaigns(tx, now)
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// GetCampaign implements the AdminService.
func (s *Server) GetCampaign(ctx context.Context, req *misstepv1.GetCampaignRequest) (*misstepv1.GetCampaignResponse, error) {
	resp := &misstepv1.GetCampaignResponse{}
	err := s.read(ctx, func(tx store.Tx, now time.Time) error {
		c, err := findCampaign(tx, req.GetCampaignId())
		if err != nil {
			return err
		}
		if resp.Campaign, err = s.view.Campaign(tx, c, now); err != nil {
			return err
		}
		key := projects.Key(access.Project(ctx), c.ID)
		if resp.Campaign.Held, err = queue.Held(tx, key, now); err != nil || !req.GetCombinations() {
			return err
		}
		resp.Combinations, err = view.Combinations(tx, c.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// ListRunners implements the AdminService.
func (s *Server) ListRunners(ctx context.Context, _ *misstepv1.ListRunnersRequest) (*misstepv1.ListRunnersResponse, error) {
	resp := &misstepv1.ListRunnersResponse{}
	err := s.read(ctx, func(tx store.Tx, now time.Time) (err error) {
		if resp.Runners, err = s.view.Runners(tx, s.config.LeaseTime, now); err != nil {
			return err
		}
		resp.SetAside, err = setAside(tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, r := range resp.GetRunners() {
		r.SetAside, r.Repeated = s.trust.reason(r.GetOwner()), s.trust.repeated(r.GetOwner())
		r.Draining = s.drained.of(store.Holder(r.GetOwner(), r.GetRunner().GetId()))
	}
	return resp, nil
}

// GetBacklog implements the AdminService.
func (s *Server) GetBacklog(ctx context.Context, _ *misstepv1.GetBacklogRequest) (*misstepv1.GetBacklogResponse, error) {
	resp := &misstepv1.GetBacklogResponse{}
	err := s.readWhole(ctx, func(tx store.Tx, now time.Time) (err error) {
		resp.Campaigns, err = s.view.Backlog(tx, now)
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// StopCampaign implements the AdminService.
func (s *Server) StopCampaign(ctx context.Context, req *misstepv1.StopCampaignRequest) (*misstepv1.StopCampaignResponse, error) {
	err := s.update(ctx, func(tx store.Tx, now time.Time) error {
		c, err := ownCampaign(ctx, tx, req.GetCampaignId())
		if err != nil {
			return err
		}
		if err := stopProbes(tx, c, now); err != nil {
			return err
		}
		return s.queue.Stop(tx, c, now)
	})
	if err != nil {
		return nil, err
	}
	return &misstepv1.StopCampaignResponse{}, nil
}

// ListTrials implements the AdminService.
func (s *Server) ListTrials(ctx context.Context, req *misstepv1.ListTrialsRequest) (*misstepv1.ListTrialsResponse, error) {
	var after uint64
	if t := req.GetPageToken(); t != "" {
		var err error
		if after, err = strconv.ParseUint(t, 10, 63); err != nil {
			return nil,
				status.Errorf(codes.InvalidArgument, "page_token: expected the next_page_token of a response, got %q", clip(t))
		}
	}
	size := int(min(req.GetPageSize(), maxPageSize))
	if size == 0 {
		size = defaultPageSize
	}
	resp := &misstepv1.ListTrialsResponse{}
	err := s.read(ctx, func(tx store.Tx, _ time.Time) error {
		c, err := findCampaign(tx, req.GetCampaignId())
		if err != nil {
			return err
		}
		resp.Reset()
		after, bytes := after, 0
		for len(resp.Trials) < size {
			rows, err := tx.Trials(c.ID, after, min(50, size-len(resp.Trials)))
			if err != nil {
				return err
			}
			if len(rows) == 0 {
				return nil
			}
			for _, t := range rows {
				p := &misstepv1.Trial{Id: t.ID, Recipe: t.Recipe, Outcome: t.Outcome, Failure: t.Failure, FindingIds: t.FindingIDs}
				if bytes += proto.Size(p); bytes > maxPageBytes && len(resp.Trials) > 0 {
					resp.NextPageToken = strconv.FormatUint(after, 10)
					return nil
				}
				resp.Trials = append(resp.Trials, p)
				after = t.ID
			}
		}
		more, err := tx.Trials(c.ID, after, 1)
		if len(more) > 0 {
			resp.NextPageToken = strconv.FormatUint(after, 10)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// findCampaign returns the campaign with that id, or the only one whose id starts with it.
func findCampaign(tx store.Tx, id string) (*store.Campaign, error) {
	if c, err := tx.Campaign(id); err == nil || !errors.Is(err, store.ErrNotFound) {
		return c, err
	}
	all, err := tx.Campaigns(false)
	if err != nil {
		return nil, err
	}
	return only(all, "campaign", id, func(c *store.Campaign) string { return c.ID })
}

// only returns the only element whose id starts with prefix.
func only[T any](all []T, what, prefix string, id func(T) string) (T, error) {
	var found, none T
	n := 0
	for _, x := range all {
		if strings.HasPrefix(id(x), prefix) {
			found = x
			n++
		}
	}
	switch {
	case prefix == "":
		return none, status.Errorf(codes.InvalidArgument, "%s_id: is required", what)
	case n == 0:
		return none, status.Errorf(codes.NotFound, "no %s has the id %q; `misstep %s` shows the ids", what, clip(prefix),
			map[string]string{
				"campaign": "campaign list", "finding": "findings list --by finding", "reproduction": "reproduce list",
				"schedule": "schedule list", "runner": "runners",
			}[what])
	case n > 1:
		return none, status.Errorf(codes.InvalidArgument, "%d %s ids start with %q, give more of it", n, what, clip(prefix))
	}
	return found, nil
}
