package fleet

import (
	"context"
	"fmt"
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

// Upgrade gives the fleet another package: first the coordinators, then each group of runners. Where there is room, the first new
// coordinator runs besides the old ones until it is healthy. A runner that is replaced drains, so that no trial is lost. As soon as
// Nomad has given up a new one, the job goes back to the version before, and the error says why.
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
	besides, err := c.besides(ctx, jobs[0])
	if err != nil {
		return err
	}
	if err := c.replace(ctx, jobs[0], besides); err != nil {
		return err
	}
	old, err := c.needOld(ctx, u)
	if err != nil {
		return err
	}
	both := map[*api.Job]bool{} // groups that have a runner of each version
	if len(old) > 0 {
		for _, job := range jobs[1:] {
			if both[job], err = c.besides(ctx, job); err != nil {
				return err
			}
		}
		if err := c.outlast(ctx, u); err != nil {
			return err
		}
	}
	for _, job := range jobs[1:] { // one group after the other: the others serve meanwhile
		if err := c.replace(ctx, job, both[job]); err != nil {
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
	keepMark(job, before)
	job.TaskGroups[0].Count = before.TaskGroups[0].Count
	job.TaskGroups[0].Update.Canary = &canaries
	if is := job.Meta[nomad.MetaPackage]; before.Meta[nomad.MetaPackage] != is {
		c.Say("%s", replaced(before, job))
	} else {
		c.Say("job %s: runs %.19s already", *job.ID, is)
	}
	return c.register(ctx, job, before)
}

// besides starts one allocation of the new version besides the old ones and waits until it is healthy. It returns false, and
// nothing has changed, if no node has room for one or there is nothing to replace.
func (c *Cluster) besides(ctx context.Context, job *api.Job) (bool, error) {
	before, err := c.started(ctx, *job.ID)
	if err != nil {
		return false, err
	}
	keepMark(job, before)
	group := job.TaskGroups[0]
	group.Count, group.Update.Canary = before.TaskGroups[0].Count, new(1)
	p, _, err := c.client.Jobs().Plan(job, false, writes(ctx))
	if err != nil {
		return false, c.explain("plan job "+*job.ID, err)
	}
	if updates := p.Annotations.DesiredTGUpdates[*group.Name]; len(p.FailedTGAllocs) > 0 || updates == nil || updates.Canary == 0 {
		return false, nil
	}
	if err := c.roll(ctx, job, 1); err != nil {
		return false, err
	}
	return true, c.follows(ctx, rollout{id: *job.ID, canaries: true, strict: true})
}

// replace lets the new version of a job replace all of the old one. With besides, one of it runs already and is promoted.
func (c *Cluster) replace(ctx context.Context, job *api.Job, besides bool) error {
	if besides {
		d, _, err := c.client.Jobs().LatestDeployment(*job.ID, query(ctx))
		if err == nil && d != nil {
			_, _, err = c.client.Deployments().PromoteAll(d.ID, writes(ctx))
		}
		if err != nil {
			return c.explain("promote the new version of job "+*job.ID, err)
		}
		if err := c.follows(ctx, rollout{id: *job.ID, strict: true}); err != nil {
			return err
		}
	}
	if err := c.roll(ctx, job, 0); err != nil {
		return err
	}
	return c.follows(ctx, rollout{id: *job.ID, strict: true})
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
