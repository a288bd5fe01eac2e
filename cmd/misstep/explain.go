package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"misstep/triage"
)

type findingsExplain struct {
	coordinatorFlags
	ID   string `arg:"" help:"Finding id or a prefix of it."`
	JSON bool   `help:"Print the explanation."`
}

// explained is a finding with the explanation of its triage.
type explained struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// Signature is its kind, then its parts.
	Signature []string `json:"signature"`
	triage.Explanation
}

// Run explains one.
func (c *findingsExplain) Run(ctx context.Context, e *env) error {
	f, err := c.finding(ctx, e, c.ID, "")
	if err != nil {
		return err
	}
	explanation, err := triage.Explain(f.GetExample(), f.GetSignature())
	if err != nil {
		return fmt.Errorf("explain finding %s: %w: a misstep of another version found it", f.GetId(), err)
	}
	parts := append([]string{f.GetSignature().GetKind()}, f.GetSignature().GetParts()...)
	x := explained{f.GetId(), f.GetTitle(), parts, explanation}
	if c.JSON {
		return e.json(x)
	}
	renderExplanation(e.stdout, x)
	return nil
}

// renderExplanation prints the facts that hold. A rule may have asked for others too; the JSON form has them.
func renderExplanation(w io.Writer, x explained) {
	fmt.Fprintf(w, "%s  %s\nsignature: %s\n", x.ID, x.Title, strings.Join(x.Signature, " | "))
	if x.Rule != "" {
		fmt.Fprintf(w, "rule: %s\n  %s\n", x.Rule, x.Reason)
	}
	fmt.Fprintln(w)
	t := table(w)
	fmt.Fprintln(t, "fact\tvalue")
	others := 0
	for _, f := range x.Facts {
		switch {
		case !f.Holds():
			others++
		case f.Value == true:
			fmt.Fprintf(t, "%s\tyes\n", f.Name)
		default:
			fmt.Fprintf(t, "%s\t%v\n", f.Name, f.Value)
		}
	}
	t.Flush()
	if others > 0 {
		fmt.Fprintf(w, "no, 0 or empty: %d more, in --json\n", others)
	}
}
