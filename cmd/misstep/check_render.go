package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"misstep/app/check"
)

// screenBugs is the number of bugs that a screen shows.
const screenBugs = 8

// renderCheck prints what was found in a program: at most a screenful.
func renderCheck(w io.Writer, r *check.Report) {
	width, _ := sizeOf(w)
	head := fmt.Sprintf("%s on %s: %s", strings.Join(r.Command, " "), buildOf(r.JDK), ended(r))
	fmt.Fprintln(w)
	for _, line := range wrap(head, "misstep: ", "         ", width) {
		fmt.Fprintln(w, line)
	}
	var rows [][]string
	for _, c := range r.Checks {
		rows = append(rows, []string{
			c.Check, fmt.Sprint(c.Total), fmt.Sprint(c.Match), fmt.Sprint(c.Mismatch), counts(c.Tolerated), counts(c.Unwalkable),
			counts(c.Void),
		})
	}
	renderTable(w, []column{
		{title: "check"},
		{title: "total"},
		{title: "match"},
		{title: "mismatch"},
		{title: "tolerated", cut: 10, drop: 2},
		{title: "unwalkable", cut: 10, drop: 1},
		{title: "void", cut: 10, drop: 3},
	}, rows)
	for _, p := range r.Profiles {
		text := fmt.Sprintf("%s (%s): of %d samples %s are wrong, %s cut off, %s lost", p.Walker, p.Check, p.Samples,
			shareOfSamples(p.Wrong), shareOfSamples(p.CutOff), shareOfSamples(p.Lost))
		for _, line := range wrap(text, "", "  ", width) {
			fmt.Fprintln(w, line)
		}
	}
	renderSpoiling(w, r)
	for _, note := range r.Notes {
		for _, line := range wrap(note, "note: ", "      ", width) {
			fmt.Fprintln(w, line)
		}
	}
	verdict := "no mismatch: in what was checked, the walkers gave the program's stacks"
	switch {
	case !r.Proved():
		verdict = "void, nothing is proved: " + r.Reason
	case r.New():
		verdict = "there are findings that are no known bugs"
	case r.Found():
		verdict = "all findings are known bugs"
	}
	for _, line := range wrap(verdict, "misstep: ", "         ", width) {
		fmt.Fprintln(w, line)
	}
}

func renderSpoiling(w io.Writer, r *check.Report) {
	var rows [][]string
	for _, b := range r.Bugs[:min(len(r.Bugs), screenBugs)] {
		status := "new"
		if b.Known {
			status = "known"
		}
		rows = append(rows, []string{
			b.ID, status, fmt.Sprint(b.Count), shareOfSamples(b.Wrong), shareOfSamples(b.CutOff), strings.Join(b.Kinds, ","),
			b.Title,
		})
	}
	if len(rows) == 0 {
		return
	}
	renderTable(w, []column{
		{title: "bug"},
		{title: "status"},
		{title: "count"},
		{title: "wrong", drop: 2},
		{title: "cut off", drop: 2},
		{title: "kinds", cut: 12, drop: 1},
		{title: "what", cut: 24},
	}, rows)
	if more := len(r.Bugs) - screenBugs; more > 0 {
		fmt.Fprintf(w, "and %d more: --json has all\n", more)
	}
}

// buildOf shortens what a JVM says of itself: where it was built, and for which machine, is left out.
func buildOf(j check.JDK) string {
	version, _, _ := strings.Cut(j.Version, " for ")
	return version
}

// ended says how a program ended and what it used.
func ended(r *check.Report) string {
	how := fmt.Sprintf("exit code %d", r.ExitCode)
	if r.Signal != 0 {
		how = fmt.Sprintf("ended by signal %d", r.Signal)
	}
	if slices.Contains([]string{"crash", "hang"}, r.Outcome) {
		how += ", " + r.Outcome + ": " + r.Reason
	}
	return fmt.Sprintf("%s, wall %v, cpu %v, %s of memory", how, r.Wall.Round(time.Millisecond), r.CPU.Round(time.Millisecond),
		humanize.IBytes(r.MaxRSS))
}

// shareOfSamples shows a share in percent, small ones as such.
func shareOfSamples(share float64) string {
	switch {
	case share == 0:
		return "0%"
	case share < 0.0001:
		return "<0.01%"
	}
	return fmt.Sprintf("%.2f%%", 100*share)
}
