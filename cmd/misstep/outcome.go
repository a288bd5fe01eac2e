package main

import (
	"context"

	"misstep/app/check"
)

type outcomeCommand struct {
	Dir  string `arg:"" help:"Folder that holds agent/ or, of several JVMs, NAME/agent/." type:"existingdir" placeholder:"DIR"`
	JSON bool   `name:"json" help:"Print the report of misstep check."`
}

// Help is shown below the command's usage.
func (c *outcomeCommand) Help() string {
	return "Reads what the agent left, where its library was given to a JVM by hand, as in\n" +
		"  -agentpath:/PATH/libmisstep.so=out=/DIR/%p/agent,gst-asgct=0,shadow-gst=0,asgct-shadow=0,asgct-gst-bracket=1\n" +
		"or by misstep check --out. The JVM may still run."
}

// Run reports what was found.
func (c *outcomeCommand) Run(ctx context.Context, e *env) error {
	report, err := check.Left(ctx, e.installation(), c.Dir, e.warnings())
	if err != nil {
		return err
	}
	if c.JSON {
		err = e.json(report)
	} else {
		renderCheck(e.stdout, report, "")
	}
	switch {
	case err != nil:
		return err
	case report.Found():
		return &exitError{code: exitFound}
	case !report.Proved():
		return &exitError{code: exitVoid}
	}
	return nil
}
