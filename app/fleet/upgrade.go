package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"misstep/app/station"
	"misstep/deploy/nomad"
)

// Upgrade says how a fleet gets another package.
type Upgrade struct {
	// Digest of the package.
	Digest string
	// Agent is the digest of the agent in the package; empty if it is not known.
	Agent string
	// Patience is how long campaigns that need another agent may take to end. Until then runners of both versions run: one of the
	// new version in each group besides those of the old one. 0 does not ask for them: they continue when a runner with their
	// agent is back.
	Patience time.Duration
}

// Upgrade gives the fleet another package: first the coordinators, one after the other, then each group of runners. A runner that
// is replaced drains, so that no trial is lost. When a new one does not become healthy, Nomad goes back to the version before, and
// the error says why.
func (c *Cluster) Upgrade(ctx context.Context, u Upgrade) error {
	if err := c.checkArtefact(ctx, u.Digest); err != nil {
		return err
	}
	jobs := nomad.Jobs(c.Fleet, u.Digest)
	for _, job := range jobs {
		if _, err := c.started(ctx, *job.ID); err != nil {
			return err
		}
	}
	if _, err := c.needOld(ctx, u); err != nil { // before anything changes: the login may be missing
		return fmt.Errorf("ask which campaigns need the old agent: %w; with --patience 0s nobody is asked", err)
	}
	if err := c.roll(ctx, jobs[0], 0); err != nil {
		return err
	}
	if err := c.settled(ctx, *jobs[0].ID); err != nil {
		return err
	}
	old, err := c.needOld(ctx, u)
	if err != nil {
		return err
	}
	var canaries []*api.Job
	rest := jobs[1:]
	if len(old) > 0 {
		if canaries, rest, err = c.besides(ctx, jobs[1:]); err != nil {
			return err
		}
		if err := c.outlast(ctx, u); err != nil {
			return err
		}
	}
	for _, job := range canaries {
		if err := c.promote(ctx, *job.ID); err != nil {
			return err
		}
	}
	for _, job := range rest { // one group after the other: the others serve meanwhile
		if err := c.roll(ctx, job, 0); err != nil {
			return err
		}
		if err := c.settled(ctx, *job.ID); err != nil {
			return err
		}
	}
	return nil
}

// roll registers a job in place of the version that runs, with so many of the new version besides it first.
func (c *Cluster) roll(ctx context.Context, job *api.Job, canaries int) error {
	before, err := c.started(ctx, *job.ID)
	if err != nil {
		return err
	}
	job.TaskGroups[0].Count = before.TaskGroups[0].Count
	job.TaskGroups[0].Update.Canary = &canaries
	c.Say("job %s: %.19s -> %.19s", *job.ID, before.Meta[nomad.MetaPackage], job.Meta[nomad.MetaPackage])
	return c.register(ctx, job, before)
}

// besides starts one runner of the new version in each group besides the old ones, and waits until it is healthy. Groups of which a
// node can have only one are left for later, as are those without runners.
func (c *Cluster) besides(ctx context.Context, jobs []*api.Job) (canaries, rest []*api.Job, err error) {
	for _, job := range jobs {
		exclusive := slices.ContainsFunc(job.TaskGroups[0].Constraints, func(o *api.Constraint) bool {
			return o.Operand == "distinct_hosts"
		})
		before, err := c.job(ctx, *job.ID)
		if err != nil {
			return nil, nil, err
		}
		if exclusive || before == nil || *before.TaskGroups[0].Count == 0 {
			rest = append(rest, job)
			continue
		}
		if err := c.roll(ctx, job, 1); err != nil {
			return nil, nil, err
		}
		canaries = append(canaries, job)
	}
	for _, job := range canaries {
		if err := c.wait(ctx, func() (bool, string, error) { return c.canaryHealthy(ctx, *job.ID) }, "job "+*job.ID); err != nil {
			return nil, nil, err
		}
	}
	return canaries, rest, nil
}

func (c *Cluster) canaryHealthy(ctx context.Context, id string) (bool, string, error) {
	job, err := c.job(ctx, id)
	if err != nil || job == nil {
		return false, "it is gone", err
	}
	d, _, err := c.client.Jobs().LatestDeployment(id, query(ctx))
	if err != nil || d == nil || d.JobVersion != *job.Version {
		return false, "it is being placed", c.explain("ask for the deployment of job "+id, err)
	}
	state := d.TaskGroups[*job.TaskGroups[0].Name]
	switch {
	case d.Status == api.DeploymentStatusSuccessful: // nothing has changed
		return true, "", nil
	case d.Status == api.DeploymentStatusFailed:
		why, err := c.failure(ctx, id)
		return false, "", errors.Join(err, fmt.Errorf("job %s: %s: %s", id, d.StatusDescription, why))
	case state == nil || state.HealthyAllocs < state.DesiredCanaries:
		why, err := c.unplaced(ctx, id)
		return false, "the first runner of the new version is not healthy yet" + why, err
	}
	return true, "", nil
}

// promote lets the version of a job's newest runners replace the others.
func (c *Cluster) promote(ctx context.Context, id string) error {
	d, _, err := c.client.Jobs().LatestDeployment(id, query(ctx))
	if err != nil {
		return c.explain("ask for the deployment of job "+id, err)
	}
	if d != nil && d.Status == api.DeploymentStatusRunning {
		if _, _, err := c.client.Deployments().PromoteAll(d.ID, writes(ctx)); err != nil {
			return c.explain("promote the new version of job "+id, err)
		}
	}
	return c.settled(ctx, id)
}

// needOld names the running campaigns whose trials need another agent than the new one, and for which there is patience.
func (c *Cluster) needOld(ctx context.Context, u Upgrade) (names []string, err error) {
	if u.Agent == "" || u.Patience == 0 {
		return nil, nil
	}
	err = c.ask(ctx, func(st *station.Station) error {
		all, err := running(ctx, st)
		for _, b := range all {
			if d := b.GetAgentDigest(); d != "" && d != u.Agent {
				names = append(names, strings.TrimSpace(b.GetName()+" ("+b.GetCampaignId()+")"))
			}
		}
		return err
	})
	return names, err
}

// outlast waits until no campaign needs the old agent.
func (c *Cluster) outlast(ctx context.Context, u Upgrade) error {
	ctx, cancel := context.WithTimeoutCause(ctx, u.Patience, fmt.Errorf("not so within %v: runners of both versions keep running; "+
		"stop the campaigns, or run `misstep fleet upgrade` again, with --patience 0s to let them wait", u.Patience))
	defer cancel()
	said := ""
	return c.wait(ctx, func() (bool, string, error) {
		old, err := c.needOld(ctx, u)
		if err != nil {
			return false, "no coordinator answers: " + err.Error(), nil // they are asked again
		}
		why := "needed by " + strings.Join(old, ", ")
		if len(old) > 0 && why != said {
			c.Say("both versions serve until the old agent is not needed any more: %s", why)
			said = why
		}
		return len(old) == 0, why, nil
	}, "the old agent")
}
