package main

import (
	"fmt"
	"io"
	"path/filepath"

	"misstep/app/compare"
	"misstep/internal/paired"
)

// renderComparison prints what became better or worse; its tables fit 80 columns.
func renderComparison(w io.Writer, r *compare.Report) {
	width, _ := sizeOf(w)
	for side, b := range r.Builds {
		fmt.Fprintln(w, cutText(fmt.Sprintf("%-7s %s", compare.Side(side).String()+":", buildText(b)), width))
	}
	fmt.Fprintf(w, "%s of %s in %s", plural(r.Pairs, "pair"), plural(len(r.Recipes), "recipe"), r.Elapsed)
	for _, n := range []struct {
		count int
		what  string
	}{{r.Void, "with a void trial"}, {r.Failed, "that could not run"}, {r.Unfinished, "interrupted"}} {
		if n.count > 0 {
			fmt.Fprintf(w, "; %d %s", n.count, n.what)
		}
	}
	fmt.Fprintln(w)
	for _, line := range r.LeftOut {
		fmt.Fprintln(w, cutText("left out: "+line, width))
	}
	fmt.Fprintln(w)
	renderMeasures(w, "bug", r.Bugs)
	renderMeasures(w, "walker", append(r.Walkers, r.Trials...))
	fmt.Fprintf(w, "%s: %d worse, %d better, %d the same within a factor of %g, %d undecided\n", r.Overall, r.Count(paired.Worse),
		r.Count(paired.Better), r.Count(paired.Same), r.Options.Margin, r.Count(paired.Undecided))
	if r.Dir != "" {
		fmt.Fprintln(w, "page: "+shellWord(shortPath(filepath.Join(r.Dir, compare.PageFile))))
	}
}

func buildText(b compare.Build) string {
	text := b.JDK
	if b.Profiler != "" {
		text += ", " + b.Profiler
	}
	if b.Profilers != "" {
		text += ", " + shortPath(b.Profilers)
	}
	return text + ", " + b.Version
}

// mostRows is the number of rows of a table, unless more are worse or better.
const mostRows = 20

// renderMeasures prints a table, the worst first; what no trial showed, and what there is no room for, is counted below it.
func renderMeasures(w io.Writer, title string, all []compare.Measure) {
	var rows [][]string
	none, bound, left := 0, 0.0, 0
	for _, m := range all {
		switch {
		case m.Verdict == paired.NotSeen:
			none, bound = none+1, max(bound, m.Bound)
			continue
		case len(rows) >= mostRows && m.Verdict != paired.Worse && m.Verdict != paired.Better:
			left++
			continue
		}
		name := m.Of
		if m.What != "" {
			name += " " + m.What
		}
		rows = append(rows, []string{
			name, compare.Share(m.Shares[0]), compare.Share(m.Shares[1]), m.RatioText(), m.VerdictText(),
		})
	}
	if len(rows) > 0 {
		renderTable(w, []column{
			{title: title, cut: 24}, {title: "before"}, {title: "after"}, {title: "ratio (95 %)"}, {title: "verdict"},
		}, rows)
	}
	if left > 0 {
		fmt.Fprintf(w, "… and %d more, undecided or the same: the page of --dir and --json have all\n", left)
	}
	if none > 0 {
		fmt.Fprintf(w, "not seen on either: %s, in at most %s of trials (95 %%)\n", plural(none, "other share"),
			compare.Share(bound))
	}
	if len(rows)+none == 0 {
		fmt.Fprintf(w, "no %s\n", title)
	}
	fmt.Fprintln(w)
}
