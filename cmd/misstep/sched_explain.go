package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"misstep/internal/atomicfile"
	"misstep/schedule"
	"misstep/schedule/explain"
)

// mostWaits is how many pairs of threads are listed.
const mostWaits = 8

type schedExplain struct {
	File     string        `arg:"" name:"log" help:"Log of misstep sched run --log, or schedule.log of a trial's evidence." type:"existingfile" predictor:"file"`
	Round    int           `within:"[1,)" help:"Number of threads that the program creates in each round: the rare places are those of the last round." placeholder:"THREADS"`
	Last     time.Duration `within:"(0s,)" help:"Explain this long before the time that the others are relative to (default: what the last events, some 160, take)." placeholder:"TIME"`
	HTML     string        `name:"html" help:"Write a page with the picture and the words to this file." placeholder:"FILE"`
	SVG      string        `name:"svg" help:"Write the picture to this file." placeholder:"FILE"`
	Perfetto string        `help:"Write the whole log in the trace event format, which ui.perfetto.dev shows, to this file." placeholder:"FILE"`
	JSON     bool          `name:"json" help:"Print the explanation."`
}

// Run explains a log.
func (c *schedExplain) Run(e *env) error {
	x, err := c.explain()
	if err != nil {
		return &exitError{code: exitOwn, err: fmt.Errorf("explain %s: %w", c.File, err)}
	}
	for _, out := range []struct {
		file  string
		write func(io.Writer) error
	}{{c.HTML, x.HTML}, {c.SVG, x.SVG}, {c.Perfetto, x.Perfetto}} {
		if out.file == "" {
			continue
		}
		if err := atomicfile.WriteWith(out.file, out.write); err != nil {
			return &exitError{code: exitOwn, err: err}
		}
	}
	if c.JSON {
		return e.json(x)
	}
	renderInterleaving(e.stdout, x)
	return nil
}

func (c *schedExplain) explain() (*explain.Explanation, error) {
	f, err := os.Open(c.File)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	log, err := schedule.ReadLog(f)
	if errors.Is(err, schedule.ErrLog) {
		return nil, fmt.Errorf("%w: give a file of misstep sched run --log, or the evidence schedule.log of a perturbed trial", err)
	}
	if err != nil {
		return nil, err
	}
	return explain.Explain(log, explain.Options{Last: c.Last, Round: c.Round})
}

// renderInterleaving prints an explanation in the terminal's width.
func renderInterleaving(w io.Writer, x *explain.Explanation) {
	width, _ := sizeOf(w)
	lines := func(text, first, others string) {
		for _, line := range wrap(text, first, others, width) {
			fmt.Fprintln(w, line)
		}
	}
	absences := func(heading string, all []explain.Absence) {
		if len(all) == 0 {
			return
		}
		fmt.Fprintf(w, "\n%s\n", heading)
		var rows []textRow
		for i, a := range all {
			rows = append(rows, textRow{[]string{fmt.Sprintf("%3d", i+1), x.Relative(a.From)}, []string{a.Sentence()}})
		}
		renderTexts(w, rows)
	}
	lines(x.Title(), "", "  ")
	lines(x.Subtitle(), "", "  ")
	fmt.Fprintln(w)
	lines(x.Verdict(), "", "  ")
	for _, s := range x.Silences() {
		lines(s, "  ", "    ")
	}
	absences("Decisions that mattered, the last and the longest ones before that:", x.Mattered)
	absences("Longest absences of the whole log:", x.Longest)
	if len(x.Waits) > 0 {
		fmt.Fprintf(w, "\nWho waited for whom, from %s on:\n", x.Relative(x.From))
		var rows [][]string
		for _, wait := range x.Waits[:min(len(x.Waits), mostWaits)] {
			rows = append(rows, []string{wait.Woken, wait.Waker, fmt.Sprint(wait.Times), explain.Short(wait.Longest)})
		}
		columns := []column{{title: "thread", cut: 16}, {title: "woken by", cut: 16}, {title: "times"}, {title: "longest"}}
		renderTable(w, columns, rows)
	}
	for _, remark := range x.Remarks() {
		fmt.Fprintln(w)
		lines(remark, "", "  ")
	}
}
