package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"misstep/deploy/nomad"
)

// Up registers the fleet's jobs, first that of the coordinators, and waits until all of them run healthily. What runs already and
// has not changed stays as it is. With put, the secrets that this process's environment has are written before.
func (c *Cluster) Up(ctx context.Context, digest string, put bool) error {
	jobs, before, err := c.renewed(ctx, digest)
	if err != nil {
		return err
	}
	other, err := c.otherPackages(ctx, jobs, before)
	if err != nil {
		return err
	}
	if len(other) > 0 {
		return fmt.Errorf("the fleet runs another package: %s: `misstep fleet upgrade` replaces it and loses no trial, `--package` "+
			"with the digest that runs keeps it", strings.Join(other, "; "))
	}
	if err := c.checkArtefact(ctx, digest); err != nil {
		return err
	}
	changed := map[string]map[string]time.Time{} // when tasks began that Nomad restarts, by job and allocation
	if put {
		if changed, err = c.putSecrets(ctx); err != nil {
			return err
		}
	}
	if err := c.checkSecrets(ctx); err != nil {
		return err
	}
	for i, job := range jobs {
		if err := c.register(ctx, job, before[i]); err != nil {
			return err
		}
		if err := c.retry(ctx, *job.ID); err != nil {
			return err
		}
		if i == 0 { // runners without coordinators would wait anyway, and fail if these cannot be had
			if err := c.healthy(ctx, *job.ID, changed); err != nil {
				return err
			}
		}
	}
	for i, job := range jobs[1:] {
		if err := c.healthy(ctx, *job.ID, changed); err != nil {
			return err
		}
		if g := c.Fleet.GetRunners()[i]; *job.TaskGroups[0].Count == 0 && nomad.Count(g) > 0 {
			c.Say("group %s: no runners, as scaling or draining chose: `misstep fleet scale` starts some", g.GetName())
		}
	}
	unlisted, err := c.unlisted(ctx)
	if said := Unlisted(unlisted); said != "" {
		c.Say("%s", said)
	}
	return err
}

// otherPackages says which jobs run another package, if they have ever been healthy: these have trials to lose.
func (c *Cluster) otherPackages(ctx context.Context, jobs, before []*api.Job) (other []string, err error) {
	for i, job := range jobs {
		if stopped(before[i]) || before[i].Meta[nomad.MetaPackage] == job.Meta[nomad.MetaPackage] {
			continue
		}
		versions, _, _, err := c.client.Jobs().Versions(*job.ID, false, query(ctx))
		if err != nil {
			return nil, c.explain("list versions of job "+*job.ID, err)
		}
		if slices.ContainsFunc(versions, stable) {
			other = append(other, replaced(before[i], job))
		}
	}
	return other, nil
}

// replaced says which package replaces which.
func replaced(was, is *api.Job) string {
	return fmt.Sprintf("job %s: %.19s -> %.19s", *is.ID, was.Meta[nomad.MetaPackage], is.Meta[nomad.MetaPackage])
}

// healthy waits until a job runs healthily, after its tasks have restarted whose secrets have changed.
func (c *Cluster) healthy(ctx context.Context, id string, changed map[string]map[string]time.Time) error {
	if err := c.restarted(ctx, id, changed[id]); err != nil {
		return err
	}
	err := c.settled(ctx, id)
	if _, is := changed[id]; is && err != nil {
		return fmt.Errorf("%w; its secrets were replaced just now, and Nomad does not keep those before: if one is wrong, run `misstep "+
			"fleet up --put-secrets` with the right one", err)
	}
	return err
}
