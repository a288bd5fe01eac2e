package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"misstep/deploy/nomad"
)

// settled waits until the current version of a job runs healthily, and all of it. The error says what keeps it from that.
func (c *Cluster) settled(ctx context.Context, id string) error {
	return c.follows(ctx, rollout{id: id})
}

// rollout is what is waited for while Nomad puts a job's newest version in the place of the one before.
type rollout struct {
	id string
	// canaries ends the wait when the first of the new version are healthy, before the others are replaced.
	canaries bool
	// strict goes back to the version before as soon as Nomad has given up one of the new version. Otherwise Nomad tries others
	// until the job's deadline.
	strict bool
}

// follows waits for a rollout and says how far it is and what fails.
func (c *Cluster) follows(ctx context.Context, r rollout) error {
	w := &watch{Cluster: c, rollout: r, said: map[string]bool{}, logs: map[string]int{}}
	return c.wait(ctx, func() (bool, string, error) { return w.look(ctx) }, "job "+r.id)
}

// abandoned returns why Nomad has gone back from a version of a job; nil if it has not.
func (c *Cluster) abandoned(ctx context.Context, id string, version uint64, all []*api.AllocationListStub) error {
	deployments, _, err := c.client.Jobs().Deployments(id, false, query(ctx))
	for _, d := range deployments {
		if d.JobVersion == version && d.Status == api.DeploymentStatusFailed {
			return failed(d, all)
		}
	}
	return c.explain("list deployments of job "+id, err)
}

// failed says why a deployment has failed.
func failed(d *api.Deployment, all []*api.AllocationListStub) error {
	return fmt.Errorf("job %s: %s: %s", d.JobID, d.StatusDescription, cmp.Or(givenUp(all, d.JobVersion), "no allocation failed"))
}

// goBack ends a deployment, upon which Nomad goes back to the version before, and waits for that. The error always says why.
func (c *Cluster) goBack(ctx context.Context, d *api.Deployment, why string) error {
	bad := fmt.Errorf("job %s: the new version fails: %s", d.JobID, why)
	answer, _, err := c.client.Deployments().Fail(d.ID, writes(ctx))
	if err != nil {
		return errors.Join(bad, c.explain("end the deployment of job "+d.JobID, err))
	}
	if answer.RevertedJobVersion == nil {
		return fmt.Errorf("%w; no version before it was healthy: `misstep fleet up` with a package that works starts it", bad)
	}
	c.Say("job %s: going back to the version before", d.JobID)
	if err := c.settled(ctx, d.JobID); err != nil {
		return errors.Join(bad, err)
	}
	return fmt.Errorf("%w; the version before runs again", bad)
}

// deadline says until when Nomad tries to make a version healthy, if it goes back then.
func deadline(s *api.DeploymentState) string {
	if !s.AutoRevert || s.RequireProgressBy.IsZero() {
		return ""
	}
	return fmt.Sprintf("; Nomad tries until %s and goes back then to the last version that was healthy, if there is one",
		s.RequireProgressBy.Local().Format(time.TimeOnly))
}

// lastEvents are the times of the last events of the allocations that are older than an index of Nomad's, by id.
func lastEvents(all []*api.AllocationListStub, index uint64) map[string]int64 {
	last := map[string]int64{}
	for _, a := range all {
		if state := a.TaskStates[nomad.TaskName]; a.CreateIndex < index && state != nil && len(state.Events) > 0 {
			last[a.ID] = state.Events[len(state.Events)-1].Time
		}
	}
	return last
}

// failure is something that a task has been through.
type failure struct {
	at         int64
	line       string
	allocation string
	ended      bool // the task ran
}

// failures says what has failed in the allocations of a job's version, in the order of time, each reason of a node once. What an
// allocation has been through before the given time is not said.
func failures(all []*api.AllocationListStub, version uint64, before map[string]int64) (found []failure) {
	for _, a := range all {
		state := a.TaskStates[nomad.TaskName]
		if a.JobVersion != version || state == nil {
			continue
		}
		for _, e := range state.Events {
			if isFailure(e) && e.Time > before[a.ID] {
				line := fmt.Sprintf("%s on %s: %s: %s", a.JobID, a.NodeName, e.Type, e.DisplayMessage)
				found = append(found, failure{e.Time, line, a.ID, e.Type == api.TaskTerminated})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b failure) int { return cmp.Compare(a.at, b.at) })
	lines := map[string]bool{}
	return slices.DeleteFunc(found, func(f failure) bool {
		known := lines[f.line]
		lines[f.line] = true
		return known
	})
}

// isFailure reports whether an event of a task says why it failed; that it is not restarted does not.
func isFailure(e *api.TaskEvent) bool {
	return e.Type != api.TaskNotRestarting && (e.Type == api.TaskTerminated || e.FailsTask || strings.Contains(e.Type, "Fail"))
}

// givenUp says why Nomad has given up the newest allocation of a job's version that it has; empty if it has none.
func givenUp(all []*api.AllocationListStub, version uint64) string {
	for _, a := range all {
		unhealthy := a.DeploymentStatus != nil && a.DeploymentStatus.Healthy != nil && !*a.DeploymentStatus.Healthy
		if a.JobVersion == version && (unhealthy || a.ClientStatus == api.AllocClientStatusFailed) {
			return fmt.Sprintf("on %s: %s%s", a.NodeName, last(a), seeLogs(a))
		}
	}
	return ""
}

// unplaced says why the rest of a job has no node; empty if there is no reason.
func (c *Cluster) unplaced(ctx context.Context, id string) (string, error) {
	all, _, err := c.client.Jobs().Evaluations(id, query(ctx))
	if err != nil {
		return "", c.explain("list evaluations of job "+id, err)
	}
	slices.SortFunc(all, func(a, b *api.Evaluation) int { return int(b.CreateIndex) - int(a.CreateIndex) })
	for _, e := range all {
		for _, m := range e.FailedTGAllocs {
			return "; " + nomad.Unplaced(m), nil
		}
		if e.Status == api.EvalStatusComplete {
			break
		}
	}
	return "", nil
}
