package coordinator

import (
	"hash/fnv"
	"log/slog"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/catalogue"
	"misstep/coordinator/projects"
	"misstep/coordinator/queue"
	"misstep/coordinator/store"
	"misstep/coordinator/store/scoped"
	"misstep/coordinator/timetable"
	"misstep/internal/splitmix"
	misstepv1 "misstep/proto/misstep/v1"
)

// streamRuns separates the draws of the seeds of runs from other draws.
const streamRuns = 0x72756e73

// runDue submits the campaigns of the schedules whose time has come. What was submitted and the time of the next run are in one
// transaction.
func (s *Server) runDue(tx store.Tx, now time.Time) error {
	due, err := tx.DueSchedules(now)
	if err != nil {
		return err
	}
	for _, project := range projects.Of(due, (*misstepv1.Schedule).GetId) {
		if err := s.runDueIn(scoped.In(tx, project), now); err != nil {
			return err
		}
	}
	return nil
}

// runDueIn is runDue in one project.
func (s *Server) runDueIn(tx store.Tx, now time.Time) error {
	due, err := tx.DueSchedules(now)
	if err != nil {
		return err
	}
	for _, one := range due {
		next, every := one.GetNext().AsTime(), one.GetEvery().AsDuration()
		if !timetable.Astray(next, every, now) {
			if _, err := s.run(tx, one, "", now); err != nil {
				return err
			}
		}
		one.Next = timestamppb.New(timetable.Next(next, every, now))
		if err := tx.PutSchedule(one); err != nil {
			return err
		}
	}
	return nil
}

// run submits the campaign of a schedule, on the new build jdk unless that is empty, and notes it in the schedule, which the caller
// stores. A campaign that cannot be submitted is noted, too: it must not keep others from running.
func (s *Server) run(tx store.Tx, one *misstepv1.Schedule, jdk string, now time.Time) (*misstepv1.ScheduleRun, error) {
	spec := proto.CloneOf(one.GetCampaign())
	if jdk != "" {
		spec = onJDK(spec, jdk)
	}
	spec.Seed = seedOf(one)
	made := &misstepv1.ScheduleRun{Time: timestamppb.New(now), Jdk: jdk}
	one.Runs++
	one.Recent = append([]*misstepv1.ScheduleRun{made}, one.GetRecent()[:min(len(one.GetRecent()), recentRuns-1)]...)
	full, used, _, err := resolve(tx, &misstepv1.SubmitCampaignRequest{Campaign: spec, ScheduleId: one.GetId()})
	if refused, ok := status.FromError(err); err != nil && ok {
		made.Failure = clipLine(refused.Message())
		s.config.Logger.Warn("a scheduled campaign cannot be submitted", slog.String("schedule", one.GetId()),
			slog.String("failure", made.GetFailure()))
		return made, nil
	}
	if err != nil {
		return nil, err
	}
	made.CampaignId = s.newID("C", 6)
	s.config.Logger.Info("campaign submitted", slog.String("campaign", made.GetCampaignId()), slog.String("name", spec.GetName()),
		slog.String("schedule", one.GetId()))
	return made, startCampaign(tx, &store.Campaign{
		ID: made.GetCampaignId(), Owner: one.GetOwner(), Submission: full, Submitted: now,
	}, used)
}

// startCampaign starts a campaign, which uses entries of the shared catalogue.
func startCampaign(tx store.Tx, c *store.Campaign, used []*misstepv1.CatalogueEntry) error {
	if err := putUsed(tx, used, c.Submitted); err != nil {
		return err
	}
	c.State, c.Tally = misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING, &misstepv1.CampaignStatus{}
	return queue.Begin(tx, c)
}

// seedOf returns the seed of a schedule's next run: no two runs, and no two schedules of one campaign, repeat each other.
func seedOf(one *misstepv1.Schedule) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(one.GetId()))
	return splitmix.Draw(one.GetCampaign().GetSeed(), streamRuns^h.Sum64(), one.GetRuns())
}

// putUsed notes that entries were used.
func putUsed(tx store.Tx, used []*misstepv1.CatalogueEntry, now time.Time) error {
	for _, e := range used {
		e.Used = timestamppb.New(now)
		if err := tx.PutCatalogueEntry(e); err != nil {
			return err
		}
	}
	return nil
}

// runForNewJDK runs the schedules of all projects that wait for a build of that name. It returns the ids of the campaigns that are
// of the transaction's project.
func (s *Server) runForNewJDK(tx *scoped.Tx, e *misstepv1.CatalogueEntry, now time.Time) (campaigns []string, err error) {
	all, err := scoped.Whole(tx).Schedules()
	if err != nil {
		return nil, err
	}
	for _, project := range projects.Of(all, (*misstepv1.Schedule).GetId) {
		made, err := s.runForNewJDKIn(scoped.In(tx, project), e, now)
		if err != nil {
			return nil, err
		}
		if project == tx.Project() {
			campaigns = made
		}
	}
	return campaigns, nil
}

// runForNewJDKIn is runForNewJDK in one project. It starts the retests of one of the schedules.
func (s *Server) runForNewJDKIn(tx store.Tx, e *misstepv1.CatalogueEntry, now time.Time) (campaigns []string, err error) {
	all, err := tx.Schedules()
	if err != nil {
		return nil, err
	}
	retested := false
	for _, one := range all {
		if one.GetPaused() || one.GetOnNewJdk() == "" || !catalogue.Matches(one.GetOnNewJdk(), e.GetName()) {
			continue
		}
		made, err := s.run(tx, one, e.GetName(), now)
		if err != nil {
			return nil, err
		}
		if made.GetCampaignId() != "" {
			campaigns = append(campaigns, made.GetCampaignId())
		}
		if one.GetRetest() && !retested {
			retested = true // once for a build, however many schedules ask for it
			if made.Retested, err = s.startRetests(tx, one, e, now); err != nil {
				return nil, err
			}
		}
		if err := tx.PutSchedule(one); err != nil {
			return nil, err
		}
	}
	return campaigns, nil
}
