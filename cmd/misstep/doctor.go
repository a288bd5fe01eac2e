package main

import (
	"context"
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
	all := doctor.Examine(ctx, e.installation(), e.say)
	if ctx.Err() != nil { // what was not examined would look as if it did not work
		return app.ErrInterrupted
	}
	if c.JSON {
		if err := e.json(all); err != nil {
			return err
		}
	} else {
		renderDiagnoses(e.stdout, all)
	}
	if slices.ContainsFunc(all, func(d doctor.Diagnosis) bool { return d.State == doctor.Missing }) {
		return &exitError{code: exitFailed}
	}
	return nil
}

func renderDiagnoses(w io.Writer, all []doctor.Diagnosis) {
	var rows []textRow
	for _, d := range all {
		row := textRow{cells: []string{d.State, d.Name}, texts: []string{d.Detail}}
		if d.Remedy != "" {
			row.texts = append(row.texts, "→ "+d.Remedy)
		}
		rows = append(rows, row)
	}
	renderTexts(w, rows)
}
