package fleet

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"misstep/deploy/nomad"
)

const (
	// steadyPolls is for how many polls tasks that have restarted must keep running: 10 s, two intervals of Nomad's check.
	steadyPolls = 20
	// giveUpAfter is how often a task may end in the same way within atStart of its start before nobody waits for it. Nomad keeps
	// the events of as many.
	giveUpAfter = 3
	atStart     = time.Minute
)

// runsHealthily reports whether an allocation was found healthy and its task runs now: to Nomad it is healthy when that has
// restarted, too.
func runsHealthily(a *api.AllocationListStub) bool {
	state, health := a.TaskStates[nomad.TaskName], a.DeploymentStatus
	return a.ClientStatus == api.AllocClientStatusRunning && a.DesiredStatus == api.AllocDesiredStatusRun &&
		state != nil && state.State == "running" && health != nil && health.Healthy != nil && *health.Healthy
}

// unhealthy says how many of count allocations run healthily, and what the newest other one did last; empty if all do.
func unhealthy(all []*api.AllocationListStub, count int) string {
	healthy, why := 0, ""
	for _, a := range all {
		switch {
		case runsHealthily(a):
			healthy++
		case why == "" && a.DesiredStatus == api.AllocDesiredStatusRun && a.NextAllocation == "":
			why = fmt.Sprintf("; on %s: %s", a.NodeName, last(a))
		}
	}
	if healthy >= count {
		return ""
	}
	return fmt.Sprintf("%d of %d run healthily%s", healthy, count, why)
}

// steadiness watches whether tasks that have restarted keep running.
type steadiness struct {
	starts map[string]int64
	polls  int
}

// holds reports whether what runs healthily has never restarted, or has not for steadyPolls polls. Polls are counted because a
// node's clock may differ.
func (s *steadiness) holds(all []*api.AllocationListStub) bool {
	starts, restarted := map[string]int64{}, false
	for _, a := range all {
		if runsHealthily(a) {
			state := a.TaskStates[nomad.TaskName]
			starts[a.ID] = state.StartedAt.UnixNano()
			restarted = restarted || state.Restarts > 0
		}
	}
	if !maps.Equal(starts, s.starts) {
		s.starts, s.polls = starts, 0
	}
	s.polls++
	return !restarted || s.polls > steadyPolls
}

// failedCheck says which of Nomad's checks of what has restarted does not succeed; empty if none is known. Nomad's word for the
// allocation itself is from before the restart.
func (c *Cluster) failedCheck(ctx context.Context, all []*api.AllocationListStub) string {
	for _, a := range all {
		if !runsHealthily(a) || a.TaskStates[nomad.TaskName].Restarts == 0 {
			continue
		}
		checks, err := c.client.Allocations().Checks(a.ID, query(ctx))
		if err != nil {
			continue // the node may not answer, and its tasks run
		}
		for _, check := range checks {
			if check.Status != "success" {
				return fmt.Sprintf("on %s: the check %s says %s: %s", a.NodeName, check.Check, check.Status, check.Output)
			}
		}
	}
	return ""
}

// repeated says which task of a job's version has ended again and again in the same way since the given times, by allocation, each
// time soon after its start; empty if none has.
func repeated(all []*api.AllocationListStub, version uint64, since map[string]int64) string {
	for _, a := range all {
		state := a.TaskStates[nomad.TaskName]
		if a.JobVersion != version || state == nil {
			continue
		}
		ends, began, how := 0, int64(0), ""
		for _, e := range state.Events {
			switch {
			case e.Type == api.TaskStarted:
				began = e.Time
			case e.Type != api.TaskTerminated || e.Time <= since[a.ID]:
			case began > 0 && e.Time-began > int64(atStart):
				ends, how = 0, ""
			case e.DisplayMessage != how:
				ends, how = 1, e.DisplayMessage
			default:
				ends++
			}
		}
		if ends >= giveUpAfter {
			return fmt.Sprintf("on %s: it has ended %d times within %v of its start: %s%s", a.NodeName, ends, atStart, how,
				seeLogs(a))
		}
	}
	return ""
}

// restarted waits until Nomad has restarted the tasks that began at the given times, by allocation.
func (c *Cluster) restarted(ctx context.Context, id string, began map[string]time.Time) error {
	if len(began) == 0 {
		return nil
	}
	c.Say("job %s: Nomad restarts its tasks with other secrets, each within a minute", id)
	return c.wait(ctx, func() (bool, string, error) {
		all, err := c.allocations(ctx, id)
		if err != nil {
			return false, "", err
		}
		var left []string
		for _, a := range all {
			if at, is := began[a.ID]; is && live(a) && a.TaskStates[nomad.TaskName].StartedAt.Equal(at) {
				left = append(left, a.NodeName)
			}
		}
		return len(left) == 0, "not yet restarted on " + strings.Join(left, ", "), nil
	}, "job "+id+": restart with other secrets")
}

// starts are the times at which the tasks of a job that run began, by allocation.
func (c *Cluster) starts(ctx context.Context, id string) (map[string]time.Time, error) {
	all, err := c.allocations(ctx, id)
	began := map[string]time.Time{}
	for _, a := range all {
		if state := a.TaskStates[nomad.TaskName]; live(a) && state != nil && !state.StartedAt.IsZero() {
			began[a.ID] = state.StartedAt
		}
	}
	return began, err
}

// retry has Nomad place at once what it would place later, at longer and longer intervals, because it has failed before.
func (c *Cluster) retry(ctx context.Context, id string) error {
	all, err := c.allocations(ctx, id)
	if err != nil {
		return err
	}
	for _, a := range all {
		if a.ClientStatus == api.AllocClientStatusFailed && a.DesiredStatus == api.AllocDesiredStatusRun && a.NextAllocation == "" {
			_, _, err := c.client.Jobs().EvaluateWithOpts(id, api.EvalOptions{ForceReschedule: true}, writes(ctx))
			return c.explain("place again what has failed of job "+id, err)
		}
	}
	return nil
}
