package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"misstep/app/jfrcheck"
)

// screenFaults is the number of lines for faults, and for doubts, on a screen; screenProblems that of places that cannot be read.
const (
	screenFaults   = 8
	screenProblems = 6
)

// renderReport prints a report that is read in a minute: what it is about, whether anything is wrong, what samples lack.
func renderReport(w io.Writer, r *jfrcheck.Report) {
	for _, f := range r.Recordings {
		fmt.Fprintf(w, "%s: %s, %s, %v, %s\n", printable(f.File), printable(strings.Join(f.Writers, ", ")),
			humanize.IBytes(uint64(f.Bytes)), f.End.Sub(f.Begin).Round(time.Second), plural(f.Chunks, "chunk"))
		for _, p := range f.Problems[:min(len(f.Problems), screenProblems)] {
			fmt.Fprintf(w, "  chunk %d, offset %d: %s\n", p.Chunk, p.Offset, printable(p.Message))
		}
		if f.Incomplete != "" {
			fmt.Fprintf(w, "  not read whole: %s\n", printable(f.Incomplete))
		}
		if f.LostBytes > 0 {
			fmt.Fprintf(w, "  the recorder lost %s of events\n", humanize.IBytes(uint64(f.LostBytes)))
		}
	}
	fmt.Fprintln(w)
	var rows [][]string
	for _, c := range r.Checks {
		verdict := fmt.Sprint(c.Wrong)
		if c.Skipped != "" {
			verdict = "not made: " + c.Skipped
		}
		rows = append(rows, []string{c.Name, fmt.Sprint(c.Right), verdict, counts(c.Tolerated), counts(c.Void)})
	}
	renderTable(w, []column{
		{title: "check"},
		{title: "right"},
		{title: "wrong", cut: 40},
		{title: "tolerated", cut: 12, drop: 1},
		{title: "void", cut: 12, drop: 2},
	}, rows)
	renderFaults(w, "wrong for certain", byTouch(r.Faults))
	renderFaults(w, "doubtful", r.Doubts)
	renderSamplers(w, r.Samplers)
	renderThreads(w, r.Threads)
	renderMethods(w, r.Methods)
	width, _ := sizeOf(w)
	for i, note := range r.Notes {
		if i == 0 {
			fmt.Fprintln(w)
		}
		for _, line := range wrap(note, "note: ", "      ", width) {
			fmt.Fprintln(w, line)
		}
	}
	fmt.Fprintln(w)
	for _, line := range wrap(r.Answer(), "misstep: ", "         ", width) {
		fmt.Fprintln(w, line)
	}
}

// byTouch has the faults first that touch more.
func byTouch(faults []jfrcheck.Fault) []jfrcheck.Fault {
	class := func(f jfrcheck.Fault) int { return slices.Index(jfrcheck.Touches, f.Touches) }
	return slices.SortedStableFunc(slices.Values(faults), func(a, b jfrcheck.Fault) int { return class(a) - class(b) })
}

func renderFaults(w io.Writer, title string, faults []jfrcheck.Fault) {
	if len(faults) == 0 {
		return
	}
	width, _ := sizeOf(w)
	var lines []string
	shown := 0
	for ; shown < len(faults); shown++ {
		f := faults[shown]
		first := fmt.Sprintf("  %d ×  ", f.Count)
		others := strings.Repeat(" ", len([]rune(first)))
		what := f.Kind + ": " + f.Place
		what += touching(f)
		if f.Known != "" {
			what += ", known as " + f.Known
		}
		cut := func(text string) string { return joinCut(strings.Fields(text), width-len(others)) }
		next := append(wrap(cut(what), first, others, width), wrap(cut("because "+f.Detail), others, others, width)...)
		if shown > 0 && len(lines)+len(next) > screenFaults {
			break
		}
		lines = append(lines, next...)
	}
	fmt.Fprintf(w, "\n%s\n%s\n", title, strings.Join(lines, "\n"))
	if more := len(faults) - shown; more > 0 {
		fmt.Fprintf(w, "  and %d more: --json or --html has all\n", more)
	}
}

// touching says what a fault touches, and of how many samples.
func touching(f jfrcheck.Fault) string {
	switch {
	case f.Touches == "": // a doubt
		return ""
	case f.Samples > 0:
		return ", touches " + plural(int(f.Samples), "sample")
	}
	return ", touches " + f.Touches
}

func renderSamplers(w io.Writer, samplers []jfrcheck.Sampler) {
	if len(samplers) == 0 {
		fmt.Fprintln(w, "\nno sampler's events: nothing to say of a profile")
		return
	}
	fmt.Fprintln(w)
	var rows [][]string
	for _, s := range samplers {
		cells := append(lacking(s.Counts), orDash(s.Asked), length(s.Median), length(s.P90))
		rows = append(rows, append([]string{s.Event}, cells...))
	}
	renderTable(w, append(append([]column{{title: "sampler", cut: 20}}, lackingColumns...),
		column{title: "asked", drop: 3}, column{title: "median"}, column{title: "p90", drop: 2}), rows)
}

func length(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return d.Round(max(d/100, 1)).Round(10 * time.Microsecond).String()
}

var lackingColumns = []column{
	{title: "samples"}, {title: "empty"}, {title: "truncated"}, {title: "failed", drop: 4}, {title: "lost"}, {title: "unusable"},
}

func lacking(c jfrcheck.Counts) []string {
	return []string{
		fmt.Sprint(c.Samples), fmt.Sprint(c.Empty), fmt.Sprint(c.Truncated), fmt.Sprint(c.Failed), fmt.Sprint(c.Lost),
		sharePercent(c.Unusable()),
	}
}

func sharePercent(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) }

func renderThreads(w io.Writer, threads []jfrcheck.Thread) {
	if len(threads) == 0 {
		return
	}
	fmt.Fprintln(w)
	var rows [][]string
	for _, t := range threads {
		rows = append(rows, append([]string{t.Name}, append(lacking(t.Counts), length(t.Median), length(t.P90))...))
	}
	renderTable(w, append(append([]column{{title: "thread", cut: 20}}, lackingColumns...),
		column{title: "median", drop: 3}, column{title: "p90", drop: 2}), rows)
}

func renderMethods(w io.Writer, methods []jfrcheck.Group) {
	if len(methods) == 0 {
		return
	}
	fmt.Fprintln(w)
	var rows [][]string
	for _, g := range methods {
		rows = append(rows, append([]string{g.Name}, lacking(g.Counts)...))
	}
	renderTable(w, append([]column{{title: "method on top", cut: 20}}, lackingColumns...), rows)
}

// renderDiff prints what two recordings differ in.
func renderDiff(w io.Writer, d *jfrcheck.Difference) {
	for _, side := range []struct {
		name string
		jfrcheck.Side
	}{{"A", d.A}, {"B", d.B}} {
		fmt.Fprintf(w, "%s: %s, %s: %d samples compared, %s unusable\n", side.name, printable(side.File), side.Event, side.Compared,
			sharePercent(side.Unusable()))
	}
	for _, note := range d.Notes {
		fmt.Fprintln(w, "note: "+printable(note))
	}
	fmt.Fprintln(w)
	if d.Equal() {
		fmt.Fprintf(w, "nothing differs beyond chance, of %d shares compared\n", d.Compared)
		return
	}
	var rows [][]string
	for _, c := range slices.Concat(d.Changes, d.Stacks) {
		what := c.Method
		switch {
		case c.Caller != "":
			what += " from " + c.Caller
		case len(c.Stack) > 0:
			what = strings.Join(c.Stack, " < ")
		}
		rows = append(rows, []string{
			c.Kind, sharePercent(c.A), sharePercent(c.B), fmt.Sprintf("%+.1f", 100*(c.B-c.A)),
			fmt.Sprintf("%+.1f to %+.1f", 100*c.Low, 100*c.High), fmt.Sprintf("%.2g", c.Q), what,
		})
	}
	renderTable(w, []column{
		{title: "share"},
		{title: "A"},
		{title: "B"},
		{title: "points"},
		{title: "95% interval", drop: 1},
		{title: "q", drop: 2},
		{title: "of", cut: 30},
	}, rows)
	if d.LeftOut > 0 {
		fmt.Fprintf(w, "and %d smaller ones: --top shows more\n", d.LeftOut)
	}
	fmt.Fprintf(w, "%d shares compared; of the differences %s may be due to chance\n", d.Compared, sharePercent(d.Level))
}
