package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"misstep/app/check"
	"misstep/app/compared"
)

// screenBugs is the number of bugs that a screen shows.
const screenBugs = 8

// renderCheck prints what was found in a program: at most a screenful. The hint follows where something is new.
func renderCheck(w io.Writer, r *check.Report, hint string) {
	width, _ := sizeOf(w)
	head := joinCut(r.Command, longestArgument)
	if head == "" {
		head = "the program"
	}
	if version := buildOf(r.JDK); version != "" {
		head += " on " + version
	}
	head += ": " + ended(r)
	fmt.Fprintln(w)
	for _, line := range wrap(head, "misstep: ", "         ", width) {
		fmt.Fprintln(w, line)
	}
	if len(r.Phases) > 0 {
		fmt.Fprintln(w, "phases: "+phases(r.Phases))
	}
	renderJVMs(w, r.JVMs)
	renderVerdicts(w, r.Checks)
	for _, p := range r.Profiles {
		text := fmt.Sprintf("%s (%s): of %d samples %s are wrong, %s cut off, %s lost", p.Walker, p.Check, p.Samples,
			shareOfSamples(p.Wrong), shareOfSamples(p.CutOff), shareOfSamples(p.Lost))
		for _, line := range wrap(text, "", "  ", width) {
			fmt.Fprintln(w, line)
		}
	}
	renderSpoiling(w, r)
	for _, b := range r.Bounds {
		for _, line := range wrap(b.String(), "limit: ", "       ", width) {
			fmt.Fprintln(w, line)
		}
	}
	for _, b := range r.Bundles {
		fmt.Fprintln(w, b)
	}
	notes := r.Notes
	if r.Proved() { // else the last line says it
		notes = slices.Concat(r.Idle, notes)
	}
	for _, note := range notes {
		for _, line := range wrap(note, "note: ", "      ", width) {
			fmt.Fprintln(w, line)
		}
	}
	renderCompared(w, r.Compared)
	renderDoubts(w, r.Compared, "--json has all")
	for _, line := range wrap(verdict(r, hint), "misstep: ", "         ", width) {
		fmt.Fprintln(w, line)
	}
}

// verdict is what a report comes to. Walkers are right only in what was compared, and that is said with them.
func verdict(r *check.Report, hint string) string {
	doubted := len(compared.Doubts(r.Compared)) > 0
	text := "no mismatch: in what was checked, the walkers gave the program's stacks"
	switch {
	case !r.Proved():
		return "void, nothing is proved: " + r.Reason
	case r.New():
		return "there are findings that are no known bugs" + hint
	case r.Found() && doubted:
		return "all findings are known bugs; of what was not compared, nothing is known"
	case r.Found():
		return "all findings are known bugs"
	case doubted:
		text = "no mismatch in what was compared; of the rest nothing is known"
	}
	if upTo := compared.UpTo(r.Compared); upTo != "" {
		text += "; " + upTo
	}
	return text
}

// renderVerdicts prints a line for each check, unless nothing at all was checked.
func renderVerdicts(w io.Writer, checks []check.Count) {
	if !slices.ContainsFunc(checks, func(c check.Count) bool { return c.Total > 0 }) {
		return
	}
	var rows [][]string
	for _, c := range checks {
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
}

// longestArgument is the width to which a command's arguments are cut, such as class paths.
const longestArgument = 60

// screenJVMs is the number of JVMs that a screen shows.
const screenJVMs = 10

// renderJVMs prints a line for each JVM of a command: first those with findings, then those that checked most.
func renderJVMs(w io.Writer, jvms []*check.Report) {
	if len(jvms) == 0 {
		return
	}
	judged := func(r *check.Report) (n uint64) {
		for _, c := range r.Checks {
			n += c.Match + c.Mismatch
		}
		return n
	}
	order := slices.Clone(jvms)
	slices.SortStableFunc(order, func(a, b *check.Report) int {
		return cmp.Or(cmp.Compare(len(b.Bugs), len(a.Bugs)), cmp.Compare(judged(b), judged(a)))
	})
	var rows [][]string
	for _, r := range order[:min(len(order), screenJVMs)] {
		var ids []string
		for _, b := range r.Bugs {
			ids = append(ids, b.ID)
		}
		rows = append(rows, []string{
			fmt.Sprint(r.PID), r.Outcome, fmt.Sprint(judged(r)), orDash(strings.Join(ids, ",")), buildOf(r.JDK),
			strings.Join(r.Command, " "),
		})
	}
	renderTable(w, []column{
		{title: "JVM"},
		{title: "outcome"},
		{title: "compared"},
		{title: "bugs", cut: 16},
		{title: "JDK", cut: 16, drop: 1},
		{title: "command", cut: 16},
	}, rows)
	if more := len(jvms) - screenJVMs; more > 0 {
		fmt.Fprintf(w, "and %d more JVMs: --json has all\n", more)
	}
	fmt.Fprintln(w)
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

// buildOf shortens what a JVM says of itself: where it was built, and for which machine, is left out. JDK 8 is known by the number
// of its JRE; its VM's is 25.
func buildOf(j check.JDK) string {
	vm, rest, _ := strings.Cut(j.Version, " for ")
	_, jre, ok := strings.Cut(rest, " JRE (")
	name, _, isVM := strings.Cut(vm, " (")
	if number, _, ends := strings.Cut(jre, ")"); ok && isVM && ends {
		return fmt.Sprintf("%s (%s)", name, number)
	}
	return vm
}

// ended says how a program ended and what it used.
func ended(r *check.Report) string {
	how := fmt.Sprintf("exit code %d", r.ExitCode)
	switch {
	case r.Signal != 0:
		how = fmt.Sprintf("ended by signal %d", r.Signal)
	case r.ExitCode < 0 && r.Wall > 0:
		how = fmt.Sprintf("checked for %v", r.Wall.Round(time.Millisecond))
	case r.ExitCode < 0:
		how = "exit code unknown"
	}
	if r.Stopped {
		how = "stopped when its time was over (" + how + ")"
	}
	if slices.Contains([]string{"crash", "hang"}, r.Outcome) {
		how += ", " + r.Outcome + ": " + r.Reason
	}
	if r.MaxRSS == 0 { // it was not started here
		return how
	}
	if r.Instrumented > 0 {
		how += fmt.Sprintf(", %d methods instrumented", r.Instrumented)
	}
	memory := humanize.IBytes(r.MaxRSS)
	if r.MaxRSSBound {
		memory = "at most " + memory
	}
	return fmt.Sprintf("%s; with the agent: wall %v, cpu %v, peak memory %s", how, r.Wall.Round(time.Millisecond),
		r.CPU.Round(time.Millisecond), memory)
}

// phases says where the time went.
func phases(list []check.Phase) string {
	var texts []string
	for _, p := range list {
		texts = append(texts, fmt.Sprintf("%s %.1fs", p.Name, p.Time.Seconds()))
	}
	return strings.Join(texts, ", ")
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
