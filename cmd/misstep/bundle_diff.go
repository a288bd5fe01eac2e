package main

import (
	"fmt"
	"strings"

	"misstep/bundle"
)

type bundleDiff struct {
	A    string `arg:"" help:"Bundle of a finding." type:"path" placeholder:"A"`
	B    string `arg:"" help:"Bundle to compare with." type:"path" placeholder:"B"`
	JSON bool   `help:"Print the differences as {finding, recipe, jdks, rates, stacks, files}."`
}

// Run compares two bundles.
func (c *bundleDiff) Run(e *env) error {
	a, err := bundle.Open(c.A)
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := bundle.Open(c.B)
	if err != nil {
		return err
	}
	defer b.Close()
	d, err := bundle.Diff(a, b)
	if err != nil {
		return err
	}
	if c.JSON {
		err = e.json(d)
	} else {
		err = renderDifference(e, d)
	}
	if err == nil && !d.Equal() {
		err = &exitError{code: exitFound}
	}
	return err
}

func renderDifference(e *env, d bundle.Difference) error {
	if d.Equal() {
		_, err := fmt.Fprintln(e.stdout, "nothing differs")
		return err
	}
	t := table(e.stdout)
	for _, section := range []struct {
		name    string
		changes []bundle.Change
	}{{"finding", d.Finding}, {"recipe", d.Recipe}, {"JDK", d.Jdks}, {"rate", d.Rates}, {"file", d.Files}} {
		for _, change := range section.changes {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", section.name, change.Field, orDash(change.A), orDash(change.B))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, stack := range d.Stacks {
		if _, err := fmt.Fprintf(e.stdout, "\n%s of both:\n", stack.Side); err != nil {
			return err
		}
		title, aligned := bundle.Rows(stack.A, stack.B)
		rows := [][3]string{{"", title.Left, title.Right}}
		for _, r := range aligned {
			rows = append(rows, [3]string{strings.TrimSpace(string(r.Mark)), r.Left, r.Right})
		}
		renderTraces(e.stdout, rows)
	}
	return nil
}

// orDash stands for an absent value.
func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
