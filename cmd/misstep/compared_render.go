package main

import (
	"fmt"
	"io"

	"misstep/app/compared"
)

// screenDoubts is the number of walkers that are doubted on a screen.
const screenDoubts = 4

// renderCompared prints what each walker was asked, by JDK and check, and what came of it.
func renderCompared(w io.Writer, rows []compared.Row) {
	rows = compared.Asked(rows)
	if len(rows) == 0 {
		return
	}
	var cells [][]string
	for _, r := range rows {
		upTo := "-"
		if r.UpTo > 0 {
			upTo = fmt.Sprintf("%.2g%%", 100*r.UpTo)
		}
		cells = append(cells, []string{
			orDash(r.JDK), r.Walker, r.Check, fmt.Sprint(r.Asked), fmt.Sprint(r.Compared), fmt.Sprint(r.Lost), fmt.Sprint(r.Void),
			fmt.Sprint(r.Cut), upTo,
		})
	}
	renderTable(w, []column{
		{title: "JDK", cut: 12},
		{title: "walker", cut: 17},
		{title: "check", cut: 16},
		{title: "asked"},
		{title: "compared"},
		{title: "lost"},
		{title: "void", drop: 2},
		{title: "cut"},
		{title: "up to", drop: 1},
	}, cells)
}

// renderDoubts prints which walkers little is known of, and where to read of those that have no room.
func renderDoubts(w io.Writer, rows []compared.Row, all string) {
	width, _ := sizeOf(w)
	doubts := compared.Doubts(rows)
	for _, doubt := range doubts[:min(len(doubts), screenDoubts)] {
		for _, line := range wrap(doubt, "", "  ", width) {
			fmt.Fprintln(w, line)
		}
	}
	if more := len(doubts) - screenDoubts; more > 0 {
		fmt.Fprintf(w, "and %d more: %s\n", more, all)
	}
}
