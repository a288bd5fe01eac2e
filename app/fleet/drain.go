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
// other nodes, as does everything else that Nomad runs there. It returns when nothing of the fleet runs there any more. With undo
// the node may be used again.
func (c *Cluster) DrainNode(ctx context.Context, name string, undo bool) error {
	node, err := c.node(ctx, name)
	if err != nil {
		return err
	}
	options := &api.DrainOptions{MarkEligible: undo}
	if !undo {
		longest := nomad.MaxKillTimeout
		for _, g := range c.Fleet.GetRunners() {
			longest = max(longest, nomad.KillTimeout(g))
		}
		options.DrainSpec = &api.DrainSpec{Deadline: longest + time.Minute, IgnoreSystemJobs: true}
		options.Meta = map[string]string{"message": "misstep fleet drain, fleet " + c.Fleet.GetName()}
	}
	if _, err := c.client.Nodes().UpdateDrainOpts(node.ID, options, writes(ctx)); err != nil || undo {
		return c.explain("drain node "+node.Name, err)
	}
	c.Say("draining node %s", node.Name)
	return c.wait(ctx, func() (bool, string, error) {
		var running []string
		for _, job := range nomad.Jobs(c.Fleet, "") {
			all, err := c.allocations(ctx, *job.ID)
			if err != nil {
				return false, "", err
			}
			for _, a := range all {
				if live(a) && a.NodeID == node.ID {
					running = append(running, a.Name)
				}
			}
		}
		return len(running) == 0, "still running: " + strings.Join(running, ", "), nil
	}, "drain node "+node.Name)
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
	return c.ended(ctx, jobs)
}
