package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"misstep/app/audit"
)

type findingsAudit struct {
	coordinatorFlags
	Campaigns []string `arg:"" optional:"" name:"campaign" help:"Ids of campaigns (default: all)."`
	JSON      bool     `help:"Print the comparison as JSON."`
}

// Run compares the evidence with the findings.
func (c *findingsAudit) Run(ctx context.Context, e *env) error {
	st, err := c.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	r, err := audit.Run(ctx, st, c.Campaigns...)
	if err != nil {
		return err
	}
	if c.JSON {
		err = e.json(r)
	} else {
		fmt.Fprintln(e.stdout, auditLine(r))
		renderMissing(e.stdout, r)
	}
	switch {
	case err != nil:
		return err
	case len(r.Missing) > 0:
		return &exitError{code: exitFound}
	case !r.Complete():
		return &exitError{code: exitVoid}
	}
	return nil
}

// auditLine is the result in a line.
func auditLine(r *audit.Report) string {
	line := fmt.Sprintf("audit: %s of %s in the evidence of %s: each is in a finding", plural(r.Signatures, "signature"),
		plural(r.Records, "record"), plural(r.Trials, "trial"))
	if n := len(r.Missing); n > 0 {
		line = fmt.Sprintf("audit: %d of %s in the evidence of %s are in no finding (misstep findings audit)", n,
			plural(r.Signatures, "signature"), plural(r.Trials, "trial"))
	}
	var unrecorded uint64
	for _, n := range r.Unrecorded {
		unrecorded += n
	}
	if unrecorded > 0 {
		line += fmt.Sprintf("; mismatches without a record: %d", unrecorded)
	}
	if r.WithoutEvidence > 0 {
		line += fmt.Sprintf("; %s with mismatches without evidence", plural(r.WithoutEvidence, "trial"))
	}
	if r.Damaged > 0 {
		line += fmt.Sprintf("; %s could not be read", plural(r.Damaged, "line"))
	}
	if r.LeftOut > 0 {
		line += fmt.Sprintf("; %d signatures had no room in their outcomes", r.LeftOut)
	}
	return line
}

// renderMissing prints what is missing, and what the evidence itself lacks.
func renderMissing(w io.Writer, r *audit.Report) {
	if len(r.Missing) > 0 {
		t := table(w)
		fmt.Fprintln(t, "\nsignature\ttrial\tcount\ttitle")
		for _, m := range r.Missing {
			fmt.Fprintf(t, "%s\t%d\t%d\t%s\n", m.ID, m.Trial, m.Count, m.Title)
		}
		t.Flush()
	}
	for _, check := range slices.Sorted(maps.Keys(r.Unrecorded)) {
		fmt.Fprintf(w, "%s: %d mismatches were counted and not recorded (limits.mismatches bounds the records of a trial)\n", check,
			r.Unrecorded[check])
	}
}
