package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"misstep/deploy/nomad"
	misstepv1 "misstep/proto/misstep/v1"
)

func query(ctx context.Context) *api.QueryOptions { return (&api.QueryOptions{}).WithContext(ctx) }

// notFound reports whether Nomad has no such thing.
func notFound(err error) bool {
	refused, ok := errors.AsType[api.UnexpectedResponseError](err)
	return ok && refused.StatusCode() == http.StatusNotFound
}

// job returns a registered job; nil if there is none.
func (c *Cluster) job(ctx context.Context, id string) (*api.Job, error) {
	j, _, err := c.client.Jobs().Info(id, query(ctx))
	if notFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, c.explain("ask for job "+id, err)
	}
	if owner := j.Meta[nomad.MetaFleet]; owner != c.Fleet.GetName() {
		return nil, fmt.Errorf("job %s does not belong to this fleet (its %s is %q): choose another name in the fleet file", id,
			nomad.MetaFleet, owner)
	}
	return j, nil
}

// register registers a job unless somebody has changed it since it was read.
func (c *Cluster) register(ctx context.Context, job, before *api.Job) error {
	options := &api.RegisterOptions{EnforceIndex: true}
	if before != nil {
		options.ModifyIndex = *before.JobModifyIndex
	}
	_, _, err := c.client.Jobs().RegisterOpts(job, options, writes(ctx))
	return c.explain("register job "+*job.ID, err)
}

// started returns a registered job that Nomad has not been asked to stop.
func (c *Cluster) started(ctx context.Context, id string) (*api.Job, error) {
	j, err := c.job(ctx, id)
	if err == nil && stopped(j) {
		err = fmt.Errorf("job %s is not running: `misstep fleet up` starts it", id)
	}
	return j, err
}

func stopped(j *api.Job) bool { return j == nil || j.Stop != nil && *j.Stop }

// renewed returns the jobs with a package as `up` registers them, and the registered ones, nil where there is none. Groups with
// bounds keep the number of runners that scaling chose.
func (c *Cluster) renewed(ctx context.Context, digest string) (jobs, before []*api.Job, err error) {
	jobs = nomad.Jobs(c.Fleet, digest)
	for i, job := range jobs {
		registered, err := c.job(ctx, *job.ID)
		if err != nil {
			return nil, nil, err
		}
		before = append(before, registered)
		if i > 0 && !stopped(registered) {
			*job.TaskGroups[0].Count = kept(c.Fleet.GetRunners()[i-1], *registered.TaskGroups[0].Count)
		}
	}
	return jobs, before, nil
}

// kept is how many of now runners a group has after `up`: those with bounds keep what scaling chose within them.
func kept(g *misstepv1.FleetRunners, now int) int {
	if g.GetMax() == 0 {
		return nomad.Count(g)
	}
	return min(max(now, int(g.GetMin())), int(g.GetMax()))
}

// allocations of a job, the newest first.
func (c *Cluster) allocations(ctx context.Context, id string) ([]*api.AllocationListStub, error) {
	all, _, err := c.client.Jobs().Allocations(id, true, query(ctx))
	if err != nil && !notFound(err) {
		return nil, c.explain("list allocations of job "+id, err)
	}
	slices.SortFunc(all, func(a, b *api.AllocationListStub) int { return int(b.CreateIndex) - int(a.CreateIndex) })
	return all, nil
}

// live reports whether something of an allocation may still run.
func live(a *api.AllocationListStub) bool {
	return a.ClientStatus == api.AllocClientStatusPending || a.ClientStatus == api.AllocClientStatusRunning
}

// last returns what the task of an allocation did last, in Nomad's words.
func last(a *api.AllocationListStub) string {
	state := a.TaskStates[nomad.TaskName]
	if state == nil || len(state.Events) == 0 {
		return a.ClientDescription
	}
	if !state.Failed {
		return state.Events[len(state.Events)-1].DisplayMessage
	}
	// The last event says that it will be tried again or not; the one before, why.
	for _, e := range slices.Backward(state.Events) {
		if e.Type == api.TaskTerminated || e.FailsTask || strings.Contains(e.Type, "Fail") {
			return e.Type + ": " + e.DisplayMessage
		}
	}
	return state.Events[len(state.Events)-1].DisplayMessage
}

// settled waits until the current version of a job runs healthily, and all of it. The error says what keeps it from that.
func (c *Cluster) settled(ctx context.Context, id string) error {
	said := ""
	return c.wait(ctx, func() (bool, string, error) {
		job, err := c.job(ctx, id)
		if err != nil || job == nil {
			return false, "it is not registered", err
		}
		desired := *job.TaskGroups[0].Count
		if desired == 0 {
			return true, "", nil
		}
		d, _, err := c.client.Jobs().LatestDeployment(id, query(ctx))
		if err != nil {
			return false, "", c.explain("ask for the deployment of job "+id, err)
		}
		if d == nil || d.JobVersion != *job.Version {
			why, err := c.unplaced(ctx, id)
			return false, why, err
		}
		state := d.TaskGroups[*job.TaskGroups[0].Name]
		switch d.Status {
		case api.DeploymentStatusSuccessful:
			return true, "", nil
		case api.DeploymentStatusFailed, api.DeploymentStatusCancelled:
			why, err := c.failure(ctx, id)
			return false, "", errors.Join(err, fmt.Errorf("job %s: %s: %s", id, d.StatusDescription, why))
		}
		if state == nil {
			return false, "it is being placed", nil
		}
		why := fmt.Sprintf("%d of %d are healthy", state.HealthyAllocs, state.DesiredTotal)
		if state.PlacedAllocs < state.DesiredTotal {
			unplaced, err := c.unplaced(ctx, id)
			if err != nil {
				return false, "", err
			}
			why += unplaced
		}
		if why != said {
			c.Say("job %s: %s", id, why)
			said = why
		}
		return false, why, nil
	}, "job "+id)
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

// failure says what the newest failed allocation of a job did last.
func (c *Cluster) failure(ctx context.Context, id string) (string, error) {
	all, err := c.allocations(ctx, id)
	for _, a := range all {
		if a.ClientStatus == api.AllocClientStatusFailed {
			return fmt.Sprintf("on %s: %s; see `nomad alloc logs -stderr %.8s`", a.NodeName, last(a), a.ID), err
		}
	}
	return "no allocation failed", err
}

// wait asks done until it holds or fails, or until the context ends: then the error says what was waited for and why it is not
// there.
func (c *Cluster) wait(ctx context.Context, done func() (bool, string, error), what string) error {
	why := ""
	for {
		ok, now, err := done()
		if ctx.Err() == nil {
			if ok || err != nil {
				return err
			}
			why = now
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %s: %w", what, why, context.Cause(ctx))
		case <-time.After(c.Poll):
		}
	}
}
