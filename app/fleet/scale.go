package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/nomad/api"

	"misstep/app/station"
	"misstep/deploy/nomad"
	misstepv1 "misstep/proto/misstep/v1"
)

// Scale sets how many runners a group has and waits until they run; an empty name is the only group's. A group with bounds is
// scaled within them only.
func (c *Cluster) Scale(ctx context.Context, group string, count int) error {
	g, err := c.group(group)
	if err != nil {
		return err
	}
	group = g.GetName()
	if g.GetMax() > 0 && (count < int(g.GetMin()) || count > int(g.GetMax())) {
		return fmt.Errorf("group %s: expected %d to %d runners, min to max of the fleet file, got %d", group, g.GetMin(),
			g.GetMax(), count)
	}
	if err := c.scale(ctx, group, count, "misstep fleet scale"); err != nil {
		return err
	}
	return c.settled(ctx, nomad.RunnerJob(c.Fleet, group))
}

// group finds a group; the empty name is the only group's.
func (c *Cluster) group(name string) (*misstepv1.FleetRunners, error) {
	var names []string
	for _, g := range c.Fleet.GetRunners() {
		if g.GetName() == name || name == "" && len(c.Fleet.GetRunners()) == 1 {
			return g, nil
		}
		names = append(names, g.GetName())
	}
	return nil, fmt.Errorf("no group %q in the fleet file: expected --group with one of %s", name, strings.Join(names, ", "))
}

// scale asks Nomad for a number of runners. While a version is rolled out Nomad refuses; that is waited for, unless no node fits.
func (c *Cluster) scale(ctx context.Context, group string, count int, why string) error {
	id := nomad.RunnerJob(c.Fleet, group)
	return c.wait(ctx, func() (bool, string, error) {
		job, err := c.started(ctx, id)
		if err != nil {
			return true, "", err
		}
		if *job.TaskGroups[0].Count == count {
			c.Say("group %s: %d runners are set already", group, count)
			return true, "", nil
		}
		_, _, err = c.client.Jobs().Scale(id, group, &count, why, false, nil, writes(ctx))
		if err != nil && strings.Contains(err.Error(), "active deployment") {
			why, e := c.unplaced(ctx, id)
			if why == "" || e != nil {
				return false, "a version is being rolled out", e
			}
			err = c.supersede(ctx, job, count)
		}
		if err == nil {
			c.Say("group %s: %d -> %d runners", group, *job.TaskGroups[0].Count, count)
		}
		return true, "", c.explain("scale job "+id, err)
	}, "scale group "+group)
}

// supersede registers a job with another number of runners as a new version: Nomad then cancels the deployment of the one before,
// which would otherwise last until a node fits.
func (c *Cluster) supersede(ctx context.Context, job *api.Job, count int) error {
	_, _, err := c.client.Jobs().RegisterOpts(withCount(job, count),
		&api.RegisterOptions{EnforceIndex: true, ModifyIndex: *job.JobModifyIndex}, writes(ctx))
	return err
}

// withCount is a job with another number of allocations.
func withCount(job *api.Job, count int) *api.Job {
	group := *job.TaskGroups[0]
	group.Count = &count
	version := *job
	version.TaskGroups = []*api.TaskGroup{&group}
	return &version
}

// errNoAuthority is the error of who would speak in plain text to coordinators with TLS.
var errNoAuthority = errors.New("the fleet's coordinators have TLS: give their authority by --tls-ca or MISSTEP_TLS_CA")

// ask connects to the fleet's coordinators.
func (c *Cluster) ask(ctx context.Context, do func(*station.Station) error) error {
	if c.Fleet.GetTransport() != nomad.PlainText && len(c.Dial) == 0 {
		return errNoAuthority
	}
	addresses, err := c.Coordinators(ctx)
	if err != nil {
		return err
	}
	if len(addresses) == 0 {
		return errors.New("no coordinator of the fleet is healthy; see `misstep fleet status`")
	}
	st, err := station.DialWith(c.Dial, addresses...)
	if err != nil {
		return err
	}
	defer st.Close()
	return do(st)
}

// running lists what the campaigns that run have left, in all projects.
func running(ctx context.Context, st *station.Station) ([]*misstepv1.Backlog, error) {
	response, err := st.GetBacklog(ctx, &misstepv1.GetBacklogRequest{})
	return response.GetCampaigns(), err
}
