package check

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"misstep/app/cireport"
)

// Cases are what a build server shows of a report that a gate has judged: the program, its checks, the limits and the bugs.
func (g Gate) Cases(r *Report) []cireport.Case {
	cases := []cireport.Case{r.programCase(), g.proofCase(r)}
	for _, c := range r.Checks {
		one := cireport.Case{Group: "check", Name: c.Check, State: cireport.Passed}
		if c.compared() == 0 {
			one.State, one.Summary = cireport.Skipped, "nothing was compared"
		}
		cases = append(cases, one)
	}
	for _, b := range r.Bounds {
		name := strings.TrimSpace(b.Name + " " + b.Walker + " " + b.Check)
		state := map[string]cireport.State{
			BoundHeld: cireport.Passed, BoundExceeded: cireport.Failed, BoundVoid: cireport.Failed,
		}[b.State]
		cases = append(cases, cireport.Case{Group: "limit", Name: name, State: state, Summary: b.String()})
	}
	for _, b := range r.Bugs {
		cases = append(cases, g.bugCase(b, artefact(r.Command)))
	}
	return cases
}

// programCase is how the program ended.
func (r *Report) programCase() cireport.Case {
	c := cireport.Case{Group: "program", Name: "end", State: cireport.Passed}
	switch {
	case r.Stopped:
	case r.Signal != 0:
		c.State, c.Summary = cireport.Failed, fmt.Sprintf("the program was ended by signal %d", r.Signal)
	case r.ExitCode > 0:
		c.State, c.Summary = cireport.Failed, fmt.Sprintf("the program returned %d", r.ExitCode)
	}
	return c
}

// proofCase is whether each walker was judged.
func (g Gate) proofCase(r *Report) cireport.Case {
	c := cireport.Case{Group: "check", Name: "every walker was judged", State: cireport.Passed}
	if !r.Proved() {
		c.State, c.Summary = cireport.Skipped, r.Reason
		if g.findings() {
			c.State = cireport.Failed
		}
	}
	return c
}

// bugCase is a bug. Its name is the same in each run.
func (g Gate) bugCase(b Bug, file string) cireport.Case {
	c := cireport.Case{
		Group: "finding", Name: b.ID, State: cireport.Allowed, Summary: b.Title, Artifact: file,
		Rule: strings.Join(slices.Concat(b.Checks[:min(1, len(b.Checks))], b.Kinds[:min(1, len(b.Kinds))]), "/"),
		Detail: fmt.Sprintf("%d times, by %s (%s); of the samples %.2f%% are wrong and %.2f%% cut off by it", b.Count,
			strings.Join(b.Checks, ", "), strings.Join(b.Kinds, ", "), 100*b.Wrong, 100*b.CutOff),
	}
	if b.Known {
		c.Summary = "known bug " + b.ID + ": " + b.Title
	}
	if g.fails(b) {
		c.State = cireport.Failed
	}
	return c
}

// compared counts the comparisons of a check.
func (c Count) compared() uint64 {
	n := c.Match + c.Mismatch
	for _, tolerated := range c.Tolerated {
		n += tolerated
	}
	return n
}

// artefact is the file that a finding is shown at: the program's jar, else the first file or folder of its class path, else the
// command itself.
func artefact(command []string) string {
	if len(command) == 0 {
		return ""
	}
	flags, rest := splitFlags(command[1:])
	if len(rest) > 1 && rest[0] == "-jar" {
		return rest[1]
	}
	for _, f := range flags {
		if name, value, _ := strings.Cut(f, "="); slices.Contains([]string{"-cp", "-classpath", "--class-path"}, name) {
			first, _, _ := strings.Cut(value, string(os.PathListSeparator))
			return first
		}
	}
	return command[0]
}
