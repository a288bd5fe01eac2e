package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"misstep/app"
	"misstep/app/doctor"
)

type doctorCommand struct {
	JSON bool `help:"Print a list of {name, state, detail, remedy}."`
}

// Run examines the machine.
func (c *doctorCommand) Run(ctx context.Context, e *env) error {
	all := doctor.Examine(ctx, e.installation())
	if ctx.Err() != nil { // what was not examined would look as if it did not work
		return app.ErrInterrupted
	}
	if c.JSON {
		if err := e.json(all); err != nil {
			return err
		}
	} else if err := renderDiagnoses(e.stdout, all); err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(d doctor.Diagnosis) bool { return d.State == doctor.Missing }) {
		return &exitError{code: exitFailed}
	}
	return nil
}

func renderDiagnoses(w io.Writer, all []doctor.Diagnosis) error {
	t := table(w)
	for _, d := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\n", d.State, d.Name, d.Detail)
		if d.Remedy != "" {
			fmt.Fprintf(t, "\t\t→ %s\n", d.Remedy)
		}
	}
	return t.Flush()
}
