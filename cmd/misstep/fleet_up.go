package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"misstep/app/executors"
	"misstep/app/fleet"
)

// waitFlag bounds what a command waits for.
type waitFlag struct {
	Wait time.Duration `within:"(0s,)" help:"How long to wait for it; what is under way then continues." default:"15m"`
}

func (f waitFlag) context(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, f.Wait, fmt.Errorf("gave up waiting after %v (--wait)", f.Wait))
}

type fleetUp struct {
	fleetFlags
	packageFlag
	waitFlag
	PutSecrets bool `help:"First write the secrets that the file names, and that this command's environment has, to Nomad variables."`
}

// Run starts or changes a fleet.
func (c *fleetUp) Run(ctx context.Context, e *env) error {
	ctx, cancel := c.context(ctx)
	defer cancel()
	cluster, err := c.open(e)
	if err != nil {
		return err
	}
	defer cluster.Close()
	digest, err := fleet.Digest(cluster.Fleet, e.installation(), c.Package)
	if err != nil {
		return err
	}
	if err := cluster.Up(ctx, digest, c.PutSecrets); err != nil {
		return err
	}
	addresses, err := cluster.Coordinators(ctx)
	if err != nil {
		return err
	}
	e.say("the fleet runs; its coordinators:")
	fmt.Fprintln(e.stdout, strings.Join(addresses, ","))
	return nil
}

type fleetStatus struct {
	fleetFlags
	JSON bool `help:"Print the fleet's status."`
}

// Run says how a fleet is.
func (c *fleetStatus) Run(ctx context.Context, e *env) error {
	cluster, err := c.open(e)
	if err != nil {
		return err
	}
	defer cluster.Close()
	s, err := cluster.Status(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return e.json(s)
	}
	return renderFleet(e.stdout, s, time.Now())
}

func renderFleet(w io.Writer, s *fleet.Status, now time.Time) error {
	t := table(w)
	fmt.Fprintln(t, "job\tstate\trunning\twanted\tpackage\tdeployment")
	for _, j := range s.Jobs {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%.19s\t%s\n", j.ID, j.State, j.Running, j.Wanted, cmp.Or(j.Package, "-"),
			cmp.Or(j.Deployment, "-"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	t = table(w)
	fmt.Fprintln(t, "\nallocation\tjob\tnode\tstate\tsince\tlast")
	for _, j := range s.Jobs {
		for _, a := range j.Allocations {
			fmt.Fprintf(t, "%.8s\t%s\t%s\t%s\t%v\t%s\n", a.ID, j.ID, a.Node, a.State, now.Sub(a.Since).Round(time.Second),
				cmp.Or(a.Last, "-"))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if said := fleet.Unlisted(s.Unlisted); said != "" {
		fmt.Fprintf(w, "\n%s\n", said)
	}
	_, err := fmt.Fprintf(w, "\ncoordinators: %s\n", cmp.Or(strings.Join(s.Coordinators, ","), "none"))
	return err
}

type fleetDown struct {
	fleetFlags
	waitFlag
	KeepFiles bool `help:"Keep the fleet's folder on the nodes, with the JDKs and workloads that were fetched."`
}

// Run stops a fleet and removes it.
func (c *fleetDown) Run(ctx context.Context, e *env) error {
	ctx, cancel := c.context(ctx)
	defer cancel()
	cluster, err := c.open(e)
	if err != nil {
		return err
	}
	defer cluster.Close()
	return cluster.Down(ctx, c.KeepFiles)
}

type sweepCommand struct {
	Work string `arg:"" help:"Folder of a fleet on this machine." type:"path"`
}

// Run removes what a fleet has left on this machine.
func (c *sweepCommand) Run() error { return executors.SweepWork(c.Work) }
