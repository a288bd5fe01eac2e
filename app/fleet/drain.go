package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"misstep/deploy/nomad"
)

// DrainNode drains a node of Nomad, given by its name or the beginning of its id: its runners hand their leases back and move to
// other nodes, as does everything else that Nomad runs there. Where the only coordinator is, it follows when the runners there have
// ended; one that cannot move is left alone unless stop is set. DrainNode returns when nothing of the fleet runs there any more.
func (c *Cluster) DrainNode(ctx context.Context, name string, stop bool) error {
	node, err := c.node(ctx, name)
	if err != nil {
		return err
	}
	jobs := nomad.Jobs(c.Fleet, "")
	coordinators, err := c.allocations(ctx, *jobs[0].ID)
	if err != nil {
		return err
	}
	only := onlyThere(coordinators, node.ID)
	bound := c.Fleet.GetCoordinators().GetNode() != ""
	if only && bound && !stop {
		return fmt.Errorf("node %s has the fleet's only coordinator, which cannot move: until --undo no trial would run, and the "+
			"leases of runners elsewhere would expire. `misstep fleet drain` without NODE lets all runners hand theirs back; then "+
			"give --stop-coordinator", node.Name)
	}
	if only {
		if err := c.stopRunners(ctx, node, jobs[1:]); err != nil {
			return err
		}
	}
	longest := nomad.MaxKillTimeout
	for _, g := range c.Fleet.GetRunners() {
		longest = max(longest, nomad.KillTimeout(g))
	}
	options := &api.DrainOptions{
		DrainSpec: &api.DrainSpec{Deadline: longest + time.Minute, IgnoreSystemJobs: true},
		Meta:      map[string]string{"message": "misstep fleet drain, fleet " + c.Fleet.GetName()},
	}
	if _, err := c.client.Nodes().UpdateDrainOpts(node.ID, options, writes(ctx)); err != nil {
		return c.explain("drain node "+node.Name, err)
	}
	c.Say("draining node %s", node.Name)
	if err := c.ended(ctx, jobs, node.ID); err != nil || !only || bound {
		return err
	}
	return c.wait(ctx, func() (bool, string, error) {
		addresses, err := c.Coordinators(ctx)
		if err != nil || len(addresses) > 0 {
			return true, "", err
		}
		why, err := c.unplaced(ctx, *jobs[0].ID)
		return false, "it is not healthy on another node yet" + why, err
	}, "move the only coordinator")
}

// UndoDrain lets a node be used again.
func (c *Cluster) UndoDrain(ctx context.Context, name string) error {
	node, err := c.node(ctx, name)
	if err != nil {
		return err
	}
	_, err = c.client.Nodes().UpdateDrainOpts(node.ID, &api.DrainOptions{MarkEligible: true}, writes(ctx))
	return c.explain("undo the drain of node "+node.Name, err)
}

// onlyThere reports whether what runs of a job runs on one node only, and something does.
func onlyThere(all []*api.AllocationListStub, node string) (only bool) {
	for _, a := range all {
		if live(a) && a.NodeID != node {
			return false
		}
		only = only || live(a)
	}
	return only
}

// stopRunners stops the runners on a node, which hand their leases back, and waits until they have ended. Nomad places others, but
// not there.
func (c *Cluster) stopRunners(ctx context.Context, node *api.NodeListStub, jobs []*api.Job) error {
	if _, err := c.client.Nodes().ToggleEligibility(node.ID, false, writes(ctx)); err != nil {
		return c.explain("keep new allocations from node "+node.Name, err)
	}
	for _, job := range jobs {
		all, err := c.allocations(ctx, *job.ID)
		if err != nil {
			return err
		}
		for _, a := range all {
			if !live(a) || a.NodeID != node.ID {
				continue
			}
			if _, err := c.client.Allocations().Stop(&api.Allocation{ID: a.ID}, query(ctx)); err != nil {
				return c.explain("stop "+a.Name+" on node "+node.Name, err)
			}
			c.Say("stopping %s on node %s, before the coordinator", a.Name, node.Name)
		}
	}
	return c.ended(ctx, jobs, node.ID)
}

// node finds a node by its name or the beginning of its id.
func (c *Cluster) node(ctx context.Context, name string) (*api.NodeListStub, error) {
	all, _, err := c.client.Nodes().List(query(ctx))
	if err != nil {
		return nil, c.explain("list nodes", err)
	}
	var names []string
	for _, n := range all {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	all = slices.DeleteFunc(all, func(n *api.NodeListStub) bool {
		return n.Name != name && (len(name) < 4 || !strings.HasPrefix(n.ID, name))
	})
	if len(all) != 1 {
		return nil, fmt.Errorf("%d nodes are called %q: expected one of %s, or an id", len(all), name, strings.Join(names, ", "))
	}
	return all[0], nil
}

// DrainRunners scales every group of runners to nothing and waits for it: they hand their leases back. Coordinators stay.
// `misstep fleet up` starts groups of a fixed number again, `scale` any.
func (c *Cluster) DrainRunners(ctx context.Context) error {
	jobs := nomad.Jobs(c.Fleet, "")[1:]
	var errs []error
	for _, g := range c.Fleet.GetRunners() {
		errs = append(errs, c.scale(ctx, g.GetName(), 0, "misstep fleet drain"))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return c.ended(ctx, jobs, "")
}
