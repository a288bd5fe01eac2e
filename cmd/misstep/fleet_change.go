package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"misstep/app/fleet"
)

// askingFlags name a fleet whose coordinators are asked what they have to do.
type askingFlags struct {
	fleetFlags
	tlsFlags
}

func (f askingFlags) open(e *env) (*fleet.Cluster, error) {
	options, err := f.dial(e.warnings())
	if err != nil {
		return nil, err
	}
	cluster, err := f.fleetFlags.open(e)
	if err != nil {
		return nil, err
	}
	cluster.Dial = options
	return cluster, nil
}

type fleetScale struct {
	askingFlags
	waitFlag
	Count   *int          `arg:"" optional:"" within:"[0,)" help:"Number of runners."`
	Group   string        `help:"Group of runners (default: the only one)." placeholder:"NAME"`
	Auto    bool          `help:"Let the backlog decide for all groups with min and max, cheapest first, until interrupted."`
	Every   time.Duration `within:"[1s,)" help:"Time between two decisions of --auto." default:"30s"`
	PerSlot int           `within:"[1,)" help:"Trials that wait or run for which --auto wants one slot." default:"10"`
	Calm    time.Duration `within:"[0s,)" help:"How long less must have been wanted before --auto scales a group down." default:"5m"`
}

// Run scales.
func (c *fleetScale) Run(ctx context.Context, e *env) error {
	if c.Auto && c.Count != nil {
		return fmt.Errorf("--auto decides the number of runners itself: leave %d out, or --auto", *c.Count)
	}
	if !c.Auto && c.Count == nil {
		return errors.New("give the number of runners, or --auto")
	}
	cluster, err := c.open(e)
	if err != nil {
		return err
	}
	defer cluster.Close()
	if c.Auto {
		return cluster.Follow(ctx, fleet.Auto{Every: c.Every, PerSlot: c.PerSlot, Calm: c.Calm})
	}
	ctx, cancel := c.context(ctx)
	defer cancel()
	return cluster.Scale(ctx, c.Group, *c.Count)
}

type fleetDrain struct {
	fleetFlags
	waitFlag
	Node string `arg:"" optional:"" help:"Nomad's node, by name or id: nothing runs there until --undo, of other jobs either (default: all runners of the fleet stop, on all nodes)."`
	Undo bool   `help:"Let the node be used again."`
	Stop bool   `name:"stop-coordinator" help:"Drain a node with the only coordinator even if that cannot move, as its disk is there: no trial runs until --undo."`
}

// Run drains.
func (c *fleetDrain) Run(ctx context.Context, e *env) error {
	if c.Undo && c.Node == "" {
		return errors.New("--undo needs a NODE; 'fleet up' or 'fleet scale' starts runners again")
	}
	ctx, cancel := c.context(ctx)
	defer cancel()
	cluster, err := c.open(e)
	if err != nil {
		return err
	}
	defer cluster.Close()
	if c.Node == "" {
		return cluster.DrainRunners(ctx)
	}
	if c.Undo {
		return cluster.UndoDrain(ctx, c.Node)
	}
	return cluster.DrainNode(ctx, c.Node, c.Stop)
}

type fleetUpgrade struct {
	askingFlags
	packageFlag
	waitFlag
	Patience *time.Duration `within:"[0s,)" help:"How long runners of both versions may serve, for campaigns that need the old agent, within --wait; 0s replaces all at once and asks no coordinator (default: two thirds of --wait)."`
}

// Run upgrades.
func (c *fleetUpgrade) Run(ctx context.Context, e *env) error {
	patience := c.Wait * 2 / 3
	if c.Patience != nil {
		patience = *c.Patience
	}
	if patience >= c.Wait {
		return fmt.Errorf("--patience %v does not end within --wait %v: give a longer --wait", patience, c.Wait)
	}
	ctx, cancel := c.context(ctx)
	defer cancel()
	cluster, err := c.open(e)
	if err != nil {
		return err
	}
	defer cluster.Close()
	u := fleet.Upgrade{Digest: c.Package, Patience: patience}
	if u.Digest, err = fleet.Digest(cluster.Fleet, e.installation(), c.Package); err != nil {
		return err
	}
	if c.Package == "" { // of another package, the agent is not known here
		agent, err := e.installation().Agent()
		if err != nil {
			return err
		}
		u.Agent = agent.Digest
	}
	return cluster.Upgrade(ctx, u)
}
