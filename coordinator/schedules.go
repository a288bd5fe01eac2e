package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/access"
	"misstep/coordinator/campaign"
	"misstep/coordinator/catalogue"
	"misstep/coordinator/store"
	"misstep/coordinator/view"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// Bounds of schedules.
const (
	maxSchedules  = 1000
	minEvery      = time.Minute
	maxEvery      = 366 * 24 * time.Hour
	recentRuns    = 20
	maxRetestPage = 1000
)

// CreateSchedule implements the ScheduleService.
func (s *Server) CreateSchedule(
	ctx context.Context, req *misstepv1.CreateScheduleRequest,
) (*misstepv1.CreateScheduleResponse, error) {
	if err := s.checkSchedule(req); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	spec, err := ofProject(ctx, req.GetCampaign())
	if err != nil {
		return nil, err
	}
	id := s.newID("S", 6)
	resp := &misstepv1.CreateScheduleResponse{}
	err = s.update(ctx, func(tx store.Tx, now time.Time) error {
		all, err := tx.Schedules()
		if err != nil {
			return err
		}
		if len(all) >= maxSchedules {
			return status.Errorf(codes.ResourceExhausted, "there are %d schedules, the most that there may be: remove some with "+
				"`misstep schedule rm`", len(all))
		}
		if err := canRun(tx, req); err != nil {
			return err
		}
		resp.Schedule = &misstepv1.Schedule{
			Id: id, Owner: access.From(ctx).Name, Created: timestamppb.New(now), Campaign: spec, Every: req.GetEvery(),
			OnNewJdk: req.GetOnNewJdk(), Retest: req.GetOnNewJdk() != "" && !req.GetNoRetest(),
		}
		if req.GetEvery() != nil {
			resp.Schedule.Next = timestamppb.New(now) // the next tick
		}
		return tx.PutSchedule(resp.GetSchedule())
	})
	if err != nil {
		return nil, err
	}
	s.config.Logger.InfoContext(ctx, "schedule created", slog.String("schedule", id),
		slog.String("name", req.GetCampaign().GetName()))
	return resp, nil
}

// checkSchedule returns everything that is wrong with a request by itself.
func (s *Server) checkSchedule(req *misstepv1.CreateScheduleRequest) error {
	if req.GetCampaign() == nil {
		return errors.New("campaign: is required")
	}
	if size := proto.Size(req); size > maxSubmission {
		return fmt.Errorf("expected a request of at most %d bytes, got %d", maxSubmission, size)
	}
	wrong := campaign.Validate(req.GetCampaign())
	if len(wrong) == 0 {
		wrong = campaign.Resolve(req.GetCampaign(), campaign.Names{Strategies: s.config.Strategies})
	}
	add := func(field, format string, args ...any) {
		wrong = append(wrong, recipe.Violation{Field: field, Message: fmt.Sprintf(format, args...)})
	}
	if e := req.GetEvery(); e != nil && (!e.IsValid() || e.AsDuration() < minEvery || e.AsDuration() > maxEvery) {
		add("every", "expected a duration from %v to %v, got %v", minEvery, maxEvery, e.AsDuration())
	}
	if err := catalogue.CheckPattern(req.GetOnNewJdk()); err != nil {
		add("on_new_jdk", "%v", err)
	}
	if req.GetEvery() == nil && req.GetOnNewJdk() == "" {
		add("every", "a schedule needs every, on_new_jdk or both")
	}
	return violated(wrong)
}

// canRun returns why a schedule could not run now: a name that the shared catalogue lacks, or a product without a combination. A
// schedule for new builds is tried with the first build that its pattern matches, if there is one.
func canRun(tx store.Tx, req *misstepv1.CreateScheduleRequest) error {
	if req.GetEvery() != nil {
		if _, _, _, err := resolve(tx, &misstepv1.SubmitCampaignRequest{Campaign: req.GetCampaign()}); err != nil {
			return err
		}
	}
	if req.GetOnNewJdk() == "" {
		return nil
	}
	jdks, err := tx.CatalogueEntries(catalogue.JDK)
	if err != nil {
		return err
	}
	jdks = catalogue.Select(jdks, &misstepv1.ListCatalogueEntriesRequest{Pattern: req.GetOnNewJdk()})
	if len(jdks) > 0 {
		_, _, _, err = resolve(tx, &misstepv1.SubmitCampaignRequest{Campaign: onJDK(req.GetCampaign(), jdks[0].GetName())})
		return err
	}
	loads, err := tx.CatalogueEntries(catalogue.Workload)
	if err != nil {
		return err
	}
	// No such build yet: only the workloads can be looked for.
	only := &misstepv1.SubmitCampaignRequest{Campaign: &misstepv1.Campaign{Workloads: req.GetCampaign().GetWorkloads()}}
	_, _, wrong := catalogue.Resolve(only, loads)
	if err := violated(wrong); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	return nil
}

// onJDK returns a campaign on one JDK.
func onJDK(c *misstepv1.Campaign, name string) *misstepv1.Campaign {
	c = proto.CloneOf(c)
	c.Jdks = []string{name}
	return c
}

// ListSchedules implements the ScheduleService.
func (s *Server) ListSchedules(ctx context.Context, _ *misstepv1.ListSchedulesRequest) (*misstepv1.ListSchedulesResponse, error) {
	resp := &misstepv1.ListSchedulesResponse{}
	err := s.read(ctx, func(tx store.Tx, _ time.Time) (err error) {
		resp.Schedules, err = tx.Schedules()
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// PauseSchedule implements the ScheduleService.
func (s *Server) PauseSchedule(ctx context.Context, req *misstepv1.PauseScheduleRequest) (*misstepv1.PauseScheduleResponse, error) {
	resp := &misstepv1.PauseScheduleResponse{}
	err := s.update(ctx, func(tx store.Tx, now time.Time) error {
		one, err := ownSchedule(ctx, tx, req.GetScheduleId())
		if err != nil {
			return err
		}
		switch {
		case !req.GetResume():
			one.Paused, one.Next = true, nil
		case one.GetPaused():
			one.Paused = false
			if one.GetEvery() != nil {
				one.Next = timestamppb.New(now.Add(one.GetEvery().AsDuration()))
			}
		}
		resp.Schedule = one
		return tx.PutSchedule(one)
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// RemoveSchedule implements the ScheduleService.
func (s *Server) RemoveSchedule(
	ctx context.Context, req *misstepv1.RemoveScheduleRequest,
) (*misstepv1.RemoveScheduleResponse, error) {
	err := s.update(ctx, func(tx store.Tx, _ time.Time) error {
		one, err := ownSchedule(ctx, tx, req.GetScheduleId())
		if err != nil {
			return err
		}
		return tx.DeleteSchedule(one.GetId())
	})
	if err != nil {
		return nil, err
	}
	return &misstepv1.RemoveScheduleResponse{}, nil
}

// ownSchedule returns the schedule with that id or prefix if the caller may change it.
func ownSchedule(ctx context.Context, tx store.Tx, id string) (*misstepv1.Schedule, error) {
	all, err := tx.Schedules()
	if err != nil {
		return nil, err
	}
	one, err := only(all, "schedule", id, (*misstepv1.Schedule).GetId)
	if err != nil {
		return nil, err
	}
	c := access.From(ctx)
	if c.Name != one.GetOwner() && !c.May(misstepv1.Role_ROLE_ADMIN, access.Project(ctx)) {
		return nil, status.Errorf(codes.PermissionDenied, "schedule %s belongs to %s: ask them or an administrator", one.GetId(),
			one.GetOwner())
	}
	return one, nil
}

// ListRetests implements the ScheduleService. The token of a page is the number of retests before it.
func (s *Server) ListRetests(ctx context.Context, req *misstepv1.ListRetestsRequest) (*misstepv1.ListRetestsResponse, error) {
	first, err := strconv.ParseUint("0"+req.GetPageToken(), 10, 31)
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "page_token: expected the next_page_token of a response, got %q",
			clip(req.GetPageToken()))
	}
	resp := &misstepv1.ListRetestsResponse{}
	err = s.read(ctx, func(tx store.Tx, _ time.Time) error {
		resp.Reset()
		var findings []string
		if req.GetFindingId() != "" {
			g, err := view.LoadGroups(tx)
			if err != nil {
				return err
			}
			id, err := findFinding(g, req.GetFindingId())
			if err != nil {
				return err
			}
			for other := range g.Rows {
				if g.Head(other) == g.Head(id) {
					findings = append(findings, other)
				}
			}
		}
		all, err := tx.Retests(findings...)
		if err != nil {
			return err
		}
		all = all[min(int(first), len(all)):]
		if len(all) > maxRetestPage {
			all = all[:maxRetestPage]
			resp.NextPageToken = strconv.FormatUint(first+maxRetestPage, 10)
		}
		resp.Retests = all
		return nil
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}
