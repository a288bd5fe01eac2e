package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"misstep/deploy/nomad"
)

// Down stops the fleet: first the runners, also those of groups that the fleet file has no more, which hand their leases back to
// coordinators that still run, then those. Then every node removes what the fleet has left on its disk, unless keep is set, and the
// jobs are removed from Nomad. Nomad removes the folders of allocations by itself. Variables stay: they belong to who wrote them.
// When a node may have kept something, or still runs something, the stopped jobs stay in Nomad: by them Down can be called again.
func (c *Cluster) Down(ctx context.Context, keep bool) error {
	jobs := nomad.Jobs(c.Fleet, "")
	unlisted, err := c.unlisted(ctx)
	if err != nil {
		return err
	}
	for _, id := range unlisted {
		jobs = append(jobs, &api.Job{ID: &id})
	}
	var versions []*api.Job // of all jobs
	for _, job := range slices.Concat(jobs[1:], jobs[:1]) {
		if job == jobs[0] {
			if err := c.ended(ctx, jobs[1:], ""); err != nil {
				return err
			}
		}
		registered, err := c.job(ctx, *job.ID)
		if err != nil {
			return err
		}
		if registered == nil {
			continue
		}
		all, _, _, err := c.client.Jobs().Versions(*job.ID, false, query(ctx))
		if err != nil {
			return c.explain("list versions of job "+*job.ID, err)
		}
		versions = append(versions, all...)
		if stopped(registered) {
			continue
		}
		if _, _, err := c.client.Jobs().Deregister(*job.ID, false, writes(ctx)); err != nil {
			return c.explain("stop job "+*job.ID, err)
		}
		c.Say("stopping job %s", *job.ID)
	}
	if len(versions) == 0 {
		c.Say("Nomad has no job of the fleet %s: nothing to stop", c.Fleet.GetName())
	}
	if err := c.ended(ctx, jobs, ""); err != nil {
		return err
	}
	if len(versions) == 0 {
		return nil
	}
	lost, err := c.outOfReach(ctx, jobs)
	if err != nil {
		return err
	}
	outcome := "the fleet is stopped"
	if lost != "" {
		outcome += " except on " + lost + ": what runs there continues until the Nomad client there is back and ends it"
	}
	if keep {
		c.Say("%s", outcome)
	} else if err := c.sweep(ctx, proven(versions)); err != nil {
		return fmt.Errorf("%s; %w", outcome, err)
	} else if lost != "" {
		return fmt.Errorf("%s: run `misstep fleet down` again then, or with --keep-files", outcome)
	}
	for _, job := range jobs {
		if _, _, err := c.client.Jobs().Deregister(*job.ID, true, writes(ctx)); err != nil && !notFound(err) {
			return c.explain("remove job "+*job.ID, err)
		}
	}
	return nil
}

// proven is the package of the newest of the versions of jobs that has been healthy, else of the newest: an upgrade may have left
// one that does not work.
func proven(versions []*api.Job) string {
	newest := slices.SortedFunc(slices.Values(versions), func(a, b *api.Job) int {
		return cmp.Compare(*b.SubmitTime, *a.SubmitTime)
	})
	return newest[max(slices.IndexFunc(newest, stable), 0)].Meta[nomad.MetaPackage]
}

// stable reports whether a version of a job has been healthy.
func stable(j *api.Job) bool { return j.Stable != nil && *j.Stable }

// ended waits until nothing of the jobs runs any more, on a node if one is given.
func (c *Cluster) ended(ctx context.Context, jobs []*api.Job, node string) error {
	return c.wait(ctx, func() (bool, string, error) {
		var running []string
		for _, job := range jobs {
			all, err := c.allocations(ctx, *job.ID)
			if err != nil {
				return false, "", err
			}
			for _, a := range all {
				if live(a) && (node == "" || a.NodeID == node) {
					running = append(running, fmt.Sprintf("%s on %s", a.Name, a.NodeName))
				}
			}
		}
		return len(running) == 0, "still running: " + strings.Join(running, ", "), nil
	}, "wait for the end")
}

// sweep runs a job on every node that removes the fleet's folder there.
func (c *Cluster) sweep(ctx context.Context, digest string) error {
	job := nomad.Sweep(c.Fleet, digest)
	if job == nil {
		return nil
	}
	// Under the id of an earlier attempt Nomad would start nothing on the nodes that had one, even after that job was removed.
	job.ID = new(fmt.Sprintf("%s-%x", *job.ID, time.Now().UnixMilli()))
	if err := c.register(ctx, job, nil); err != nil {
		return err
	}
	var left map[string][]string // nodes by what keeps them from it
	err := c.wait(ctx, func() (bool, string, error) {
		// Before the allocations: what a finished evaluation has placed is then among them.
		evaluations, _, err := c.client.Jobs().Evaluations(*job.ID, query(ctx))
		if err != nil {
			return false, "", c.explain("watch job "+*job.ID, err)
		}
		pending := slices.ContainsFunc(evaluations, func(e *api.Evaluation) bool { return e.Status == api.EvalStatusPending })
		if len(evaluations) == 0 || pending {
			return false, "it is being placed", nil
		}
		all, err := c.allocations(ctx, *job.ID)
		if err != nil {
			return false, "", err
		}
		registered, err := c.job(ctx, *job.ID)
		if err != nil || registered == nil {
			return false, "its job is gone", err
		}
		left = map[string][]string{}
		for _, a := range all {
			if live(a) {
				return false, "still running on " + a.NodeName, nil
			}
			if a.ClientStatus != api.AllocClientStatusComplete {
				left[last(a)] = append(left[last(a)], a.NodeName)
			}
		}
		return true, "", nil
	}, "remove the fleet's files")
	if _, _, e := c.client.Jobs().Deregister(*job.ID, true, writes(context.WithoutCancel(ctx))); e != nil {
		err = errors.Join(err, c.explain("remove job "+*job.ID, e))
	}
	if err != nil {
		return err
	}
	nodes, _, err := c.client.Nodes().List(query(ctx))
	if err != nil {
		return c.explain("list nodes", err)
	}
	for _, n := range nodes {
		if n.Status != api.NodeStatusReady {
			left[n.Status] = append(left[n.Status], n.Name)
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("%s may be left on %s: run `misstep fleet down` again when they work, or remove it there and run it with "+
			"--keep-files", nomad.Work(c.Fleet), byReason(left))
	}
	return nil
}

// byReason lists nodes with the reasons that they are listed by.
func byReason(nodes map[string][]string) string {
	var all []string
	for _, reason := range slices.Sorted(maps.Keys(nodes)) {
		all = append(all, fmt.Sprintf("%s (%s)", strings.Join(slices.Sorted(slices.Values(nodes[reason])), ", "), reason))
	}
	return strings.Join(all, ", ")
}

// outOfReach lists the nodes that Nomad has lost with something of the jobs, and that are not back.
func (c *Cluster) outOfReach(ctx context.Context, jobs []*api.Job) (string, error) {
	lost := map[string]bool{} // nodes by id
	for _, job := range jobs {
		all, err := c.allocations(ctx, *job.ID)
		if err != nil {
			return "", err
		}
		for _, a := range all {
			if a.ClientStatus == api.AllocClientStatusLost || a.ClientStatus == api.AllocClientStatusUnknown {
				lost[a.NodeID] = true
			}
		}
	}
	if len(lost) == 0 {
		return "", nil
	}
	nodes, _, err := c.client.Nodes().List(query(ctx))
	if err != nil {
		return "", c.explain("list nodes", err)
	}
	away := map[string][]string{}
	for _, n := range nodes {
		if lost[n.ID] && n.Status != api.NodeStatusReady {
			away[n.Status] = append(away[n.Status], n.Name)
		}
	}
	return byReason(away), nil
}
