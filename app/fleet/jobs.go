package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"misstep/deploy/nomad"
	misstepv1 "misstep/proto/misstep/v1"
)

func query(ctx context.Context) *api.QueryOptions { return (&api.QueryOptions{}).WithContext(ctx) }

// notFound reports whether Nomad has no such thing.
func notFound(err error) bool { return answered(err, http.StatusNotFound) }

// forbidden reports whether the token does not allow what Nomad was asked to do.
func forbidden(err error) bool { return answered(err, http.StatusForbidden) }

// answered reports whether an error is Nomad's answer with that status.
func answered(err error, status int) bool {
	answer, is := errors.AsType[api.UnexpectedResponseError](err)
	return is && answer.StatusCode() == status
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
		if stopped(registered) {
			continue
		}
		if err := c.again(ctx, job, registered); err != nil {
			return nil, nil, err
		}
		if i > 0 {
			*job.TaskGroups[0].Count = kept(c.Fleet.GetRunners()[i-1], *registered.TaskGroups[0].Count)
		}
	}
	return jobs, before, nil
}

// again marks a job whose registered version Nomad has given up: without that it would be the same version, of which Nomad starts
// no more. The mark stays, as another change would replace what runs.
func (c *Cluster) again(ctx context.Context, job, registered *api.Job) error {
	keepMark(job, registered)
	d, _, err := c.client.Jobs().LatestDeployment(*job.ID, query(ctx))
	if err != nil {
		return c.explain("ask for the deployment of job "+*job.ID, err)
	}
	if d != nil && d.JobVersion == *registered.Version && d.Status == api.DeploymentStatusFailed {
		c.Say("job %s: its last start failed (%s): to be started again", *job.ID, d.StatusDescription)
		job.Meta[nomad.MetaAgain] = d.ID
	}
	return nil
}

func keepMark(job, registered *api.Job) {
	if mark, marked := registered.Meta[nomad.MetaAgain]; marked {
		job.Meta[nomad.MetaAgain] = mark
	}
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
		if isFailure(e) {
			return e.Type + ": " + e.DisplayMessage
		}
	}
	return state.Events[len(state.Events)-1].DisplayMessage
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
