package main

import (
	"context"
	"encoding/json"
	"fmt"

	"misstep/app/fleet"
	"misstep/deploy/nomad"
)

type fleetCommand struct {
	Plan    fleetPlan    `cmd:"" help:"Show what 'up' would change, or the Nomad jobs of a fleet as HCL or JSON."`
	Up      fleetUp      `cmd:"" help:"Start a fleet, or make a running one what its file says; wait until it is healthy and print the coordinators' addresses."`
	Status  fleetStatus  `cmd:"" help:"Show a fleet's jobs and allocations."`
	Scale   fleetScale   `cmd:"" help:"Set the number of runners of a group, or let the backlog decide between the bounds of the fleet file."`
	Drain   fleetDrain   `cmd:"" help:"Let the runners on a node, or all of the fleet's, hand their trials back and stop."`
	Upgrade fleetUpgrade `cmd:"" help:"Give a running fleet another package, one coordinator or runner after the other, without losing a trial."`
	Down    fleetDown    `cmd:"" help:"Stop a fleet, runners first, and remove it and what it left on the nodes."`
	Package fleetPackage `cmd:"" help:"Write the package with this binary, the agent and what belongs to it, from which the nodes of a fleet get them."`
}

// fleetFlags name a fleet and the Nomad cluster that it is for.
type fleetFlags struct {
	File  string `arg:"" help:"Fleet in YAML." type:"path" predictor:"file"`
	Nomad string `help:"Address of Nomad, http://HOST:PORT. Nomad's other environment variables are respected, too (NOMAD_TOKEN, NOMAD_REGION, NOMAD_NAMESPACE, NOMAD_CACERT and so on)." env:"NOMAD_ADDR" placeholder:"URL"`
}

func (f fleetFlags) open(e *env) (*fleet.Cluster, error) {
	spec, err := fleet.Load(f.File)
	if err != nil {
		return nil, err
	}
	return fleet.Open(spec, f.Nomad, e.say)
}

// packageFlag chooses the package that nodes run.
type packageFlag struct {
	Package string `help:"Digest of the package to run, as 'fleet package' prints it (default: that of this installation)." placeholder:"sha256:HEX"`
}

type fleetPlan struct {
	fleetFlags
	packageFlag
	Format string `help:"What to print: changes, by Nomad's own plan; or without asking Nomad hcl, json." enum:"changes,hcl,json" default:"changes"`
}

// Run prints the plan.
func (c *fleetPlan) Run(ctx context.Context, e *env) error {
	cluster, err := c.open(e)
	if err != nil {
		return err
	}
	defer cluster.Close()
	digest, err := fleet.Digest(cluster.Fleet, e.installation(), c.Package)
	if err != nil {
		return err
	}
	if c.Format == "changes" {
		text, err := cluster.Plan(ctx, digest)
		if err != nil {
			return err
		}
		fmt.Fprint(e.stdout, text)
		return nil
	}
	jobs := nomad.Jobs(cluster.Fleet, digest)
	if c.Format == "json" {
		text, err := json.MarshalIndent(jobs, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintln(e.stdout, string(text))
		return nil
	}
	for _, job := range jobs {
		text, err := nomad.HCL(job)
		if err != nil {
			return err
		}
		fmt.Fprintln(e.stdout, text)
	}
	return nil
}

type fleetPackage struct {
	Out string `short:"o" help:"Folder to write it to, for a web server." required:"" type:"path" placeholder:"DIR"`
}

// Run writes the package and prints its digest.
func (c *fleetPackage) Run(e *env) error {
	digest, err := fleet.WritePackage(e.installation(), c.Out)
	if err != nil {
		return err
	}
	e.say("wrote %s/%s", c.Out, nomad.PackageName(digest))
	fmt.Fprintln(e.stdout, digest)
	return nil
}
