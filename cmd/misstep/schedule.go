package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/app/submission"
	misstepv1 "misstep/proto/misstep/v1"
)

type scheduleCommand struct {
	List   scheduleList   `cmd:"" help:"List the schedules of a coordinator with their latest run."`
	Pause  schedulePause  `cmd:"" help:"Keep a schedule from running."`
	Resume scheduleResume `cmd:"" help:"Let a paused schedule run again."`
	Rm     scheduleRm     `cmd:"" help:"Remove a schedule; its campaigns continue."`
}

type campaignSchedule struct {
	coordinatorFlags
	File     string        `arg:"" help:"Campaign in YAML, whose names are those of the shared catalogue." type:"existingfile"`
	Every    time.Duration `within:"(0,3660d]" help:"Time between two runs, e.g. 24h or 7d; the first one is at once." placeholder:"TIME"`
	OnNewJDK string        `name:"on-new-jdk" help:"Run for each new JDK build of the shared catalogue whose name matches, e.g. 'openjdk-*', with that build as the only JDK." placeholder:"PATTERN"`
	NoRetest bool          `help:"With --on-new-jdk, do not repeat all reproducers on the new build."`
	JSON     bool          `help:"Print the schedule."`
}

// Run makes a schedule.
func (c *campaignSchedule) Run(ctx context.Context, e *env) error {
	if c.Every == 0 && c.OnNewJDK == "" {
		return errors.New("say when: --every 24h, --on-new-jdk 'openjdk-*', or both")
	}
	if c.NoRetest && c.OnNewJDK == "" {
		return errors.New("--no-retest goes with --on-new-jdk")
	}
	spec, err := submission.Parse(c.File)
	if err != nil {
		return err
	}
	st, err := c.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	request := &misstepv1.CreateScheduleRequest{Campaign: spec, OnNewJdk: c.OnNewJDK, NoRetest: c.NoRetest}
	if c.Every > 0 {
		request.Every = durationpb.New(c.Every)
	}
	made, err := st.Schedules.CreateSchedule(ctx, request)
	if err != nil {
		return err
	}
	if c.JSON {
		return e.json(made.GetSchedule())
	}
	_, err = fmt.Fprintln(e.stdout, made.GetSchedule().GetId())
	return err
}

type scheduleList struct {
	coordinatorFlags
	JSON bool `help:"Print a list of schedules."`
}

// Run lists.
func (c *scheduleList) Run(ctx context.Context, e *env) error {
	st, err := c.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	response, err := st.Schedules.ListSchedules(ctx, &misstepv1.ListSchedulesRequest{})
	if err != nil {
		return err
	}
	if c.JSON {
		return e.json(raws(response.GetSchedules()))
	}
	t := table(e.stdout)
	fmt.Fprintln(t, "id\tname\towner\twhen\tnext\truns\tlatest")
	for _, s := range response.GetSchedules() {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", s.GetId(), s.GetCampaign().GetName(), orDash(s.GetOwner()), whenOf(s),
			nextOf(s), s.GetRuns(), latestOf(s))
	}
	return t.Flush()
}

func whenOf(s *misstepv1.Schedule) string {
	when := ""
	if s.GetEvery() != nil {
		when = "every " + s.GetEvery().AsDuration().String()
	}
	if s.GetOnNewJdk() != "" {
		if when != "" {
			when += ", "
		}
		when += "new JDK " + s.GetOnNewJdk()
	}
	return when
}

func nextOf(s *misstepv1.Schedule) string {
	switch {
	case s.GetPaused():
		return "paused"
	case s.GetNext() == nil:
		return "with the next build"
	}
	return s.GetNext().AsTime().Local().Format(time.DateTime)
}

func latestOf(s *misstepv1.Schedule) string {
	if len(s.GetRecent()) == 0 {
		return "-"
	}
	run := s.GetRecent()[0]
	if run.GetFailure() != "" {
		return "failed: " + run.GetFailure()
	}
	text := run.GetCampaignId()
	if run.GetJdk() != "" {
		text += " on " + run.GetJdk()
	}
	if run.GetRetested() > 0 {
		text += fmt.Sprintf(", %d reproducers", run.GetRetested())
	}
	return text
}

type schedulePause struct {
	coordinatorFlags
	ID string `arg:"" help:"Schedule id or a prefix of it."`
}

// Run pauses.
func (c *schedulePause) Run(ctx context.Context, e *env) error {
	return pause(ctx, e, c.coordinatorFlags, c.ID, false)
}

type scheduleResume struct {
	coordinatorFlags
	ID string `arg:"" help:"Schedule id or a prefix of it."`
}

// Run resumes.
func (c *scheduleResume) Run(ctx context.Context, e *env) error {
	return pause(ctx, e, c.coordinatorFlags, c.ID, true)
}

func pause(ctx context.Context, e *env, at coordinatorFlags, id string, resume bool) error {
	st, err := at.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	_, err = st.Schedules.PauseSchedule(ctx, &misstepv1.PauseScheduleRequest{ScheduleId: id, Resume: resume})
	return err
}

type scheduleRm struct {
	coordinatorFlags
	ID string `arg:"" help:"Schedule id or a prefix of it."`
}

// Run removes.
func (c *scheduleRm) Run(ctx context.Context, e *env) error {
	st, err := c.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	_, err = st.Schedules.RemoveSchedule(ctx, &misstepv1.RemoveScheduleRequest{ScheduleId: c.ID})
	return err
}

// renderHistory prints what became of a finding's reproducer on new builds, newest first.
func renderHistory(w io.Writer, retests []*misstepv1.Retest) error {
	t := table(w)
	fmt.Fprintln(t, "JDK\tadded\tverdict\tnow\t95 % interval\tbefore\tp\tbuild")
	for _, r := range retests {
		verdict := r.GetVerdict()
		if r.GetEnded() == nil {
			verdict = fmt.Sprintf("%d of %d tries", r.GetDone(), r.GetPlanned())
		}
		if r.GetTrouble() != "" && r.GetVerdict() == "void" {
			verdict += ": " + r.GetTrouble()
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d of %d\t%.3f–%.3f\t%d of %d\t%.2g\t%.19s…\n", r.GetJdk().GetName(),
			r.GetStarted().AsTime().Local().Format(time.DateTime), verdict, r.GetNow().GetHits(), r.GetNow().GetTries(),
			r.GetNow().GetLow(), r.GetNow().GetHigh(), r.GetKnown().GetHits(), r.GetKnown().GetTries(), r.GetP(),
			r.GetJdk().GetDigest())
	}
	return t.Flush()
}
