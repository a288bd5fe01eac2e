package main

import (
	"context"
	"errors"
	"os"

	"misstep/app/executors"
	"misstep/runner/guest"
)

type trialCommand struct {
	Job string `arg:"" help:"File of the job." type:"existingfile"`
}

// Run runs the part of a trial inside a virtual machine.
func (c *trialCommand) Run(ctx context.Context) error {
	evidence := os.Getenv("MISSTEP_EVIDENCE")
	if evidence == "" {
		return errors.New("this command is run inside a virtual machine by the executors vm and vm-deterministic")
	}
	return guest.Main(ctx, c.Job, evidence, executors.Perturbers())
}
