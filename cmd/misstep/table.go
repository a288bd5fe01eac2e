package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

// Sizes of what is printed where there is no terminal, in characters and lines.
const (
	plainWidth  = 132
	plainHeight = 40
	// minWidth is the least width that is respected.
	minWidth = 40
)

// leastCut is the width below which cells are not cut.
const leastCut = 12

// columnGap is the number of spaces between two columns.
const columnGap = 2

// table returns a writer of aligned columns as wide as their cells; cells are separated by tabs, and Flush ends it.
func table(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, columnGap, ' ', 0) }

// column of a table that fits into the terminal.
type column struct {
	title string
	// cut is the width to which cells are cut with an ellipsis, when the table is too wide, before a column is left out; where none
	// can be left out they are cut further. 0 is for ids, numbers and commands, which are never cut.
	cut int
	// drop orders the columns that are left out when cutting is not enough, highest first; 0 is never left out.
	drop int
}

// renderTable prints rows of cells as a table at most as wide as the terminal, if its columns allow it.
func renderTable(w io.Writer, columns []column, rows [][]string) {
	width, _ := sizeOf(w)
	for _, line := range fitTable(width, columns, rows) {
		fmt.Fprintln(w, line)
	}
}

// fitTable returns the lines of a table, with its titles, at most width wide if its columns allow it.
func fitTable(width int, columns []column, rows [][]string) []string {
	natural := make([]int, len(columns))
	for i, c := range columns {
		natural[i] = runewidth.StringWidth(c.title)
		for _, row := range rows {
			natural[i] = max(natural[i], runewidth.StringWidth(printable(row[i])))
		}
	}
	widths := fitColumns(width, columns, natural)
	titles := make([]string, len(columns))
	for i, c := range columns {
		titles[i] = c.title
	}
	lines := []string{tableLine(titles, widths)}
	for _, row := range rows {
		lines = append(lines, tableLine(row, widths))
	}
	return lines
}

// fitColumns returns the widths of columns, 0 for those that are left out.
func fitColumns(width int, columns []column, natural []int) []int {
	widths := slices.Clone(natural)
	for {
		least, last := -columnGap, -1 // the least width, and the next column to leave out
		for i, c := range columns {
			if widths[i] == 0 {
				continue
			}
			least += columnGap + leastWidth(c.cut, natural[i])
			if c.drop > 0 && (last < 0 || c.drop > columns[last].drop) {
				last = i
			}
		}
		if least <= width || last < 0 {
			break
		}
		widths[last] = 0
	}
	excess := -columnGap - width
	for _, w := range widths {
		if w > 0 {
			excess += columnGap + w
		}
	}
	for _, further := range []int{math.MaxInt, leastCut} {
		for ; excess > 0; excess-- {
			widest := -1
			for i, c := range columns {
				if widths[i] > leastWidth(min(c.cut, further), natural[i]) && (widest < 0 || widths[i] > widths[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				break
			}
			widths[widest]--
		}
	}
	return widths
}

func leastWidth(cut, natural int) int {
	if cut == 0 {
		return natural
	}
	return min(natural, cut)
}

func tableLine(cells []string, widths []int) string {
	var b strings.Builder
	for i, cell := range cells {
		if widths[i] == 0 {
			continue
		}
		b.WriteString(runewidth.FillRight(cutText(cell, widths[i]), widths[i]+columnGap))
	}
	return strings.TrimRight(b.String(), " ")
}

// cutText cuts a string to a width; an ellipsis shows where.
func cutText(text string, width int) string { return runewidth.Truncate(printable(text), width, "…") }

// sizeOf returns the width and height of the terminal that w writes to. COLUMNS and LINES have precedence, and what is no terminal
// has a size at which tables can be read.
func sizeOf(w io.Writer) (width, height int) {
	width, height = plainWidth, plainHeight
	if f := fileOf(w); f != nil {
		if columns, lines, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 && lines > 0 {
			width, height = columns, lines
		}
	}
	for name, value := range map[string]*int{"COLUMNS": &width, "LINES": &height} {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
			*value = n
		}
	}
	return max(width, minWidth), height
}

// wrap breaks a string at spaces into lines that begin with an indentation and are at most width wide; a longer word has a line of
// its own, so that it can be copied.
func wrap(text, first, others string, width int) []string {
	var lines []string
	for word := range strings.FieldsSeq(printable(text)) {
		last := len(lines) - 1
		switch {
		case last < 0:
			lines = append(lines, first+word)
		case runewidth.StringWidth(lines[last])+1+runewidth.StringWidth(word) <= width:
			lines[last] += " " + word
		default:
			lines = append(lines, others+word)
		}
	}
	return lines
}

// joinCut joins words, each of them cut to a width.
func joinCut(words []string, width int) string {
	cut := make([]string, len(words))
	for i, word := range words {
		cut[i] = runewidth.Truncate(printable(word), width, "…")
	}
	return strings.Join(cut, " ")
}

// textRow is a row of cells that are never cut, and of texts below each other in the last column; without texts it is a heading.
type textRow struct {
	cells, texts []string
}

// renderTexts prints rows at most as wide as the terminal: the texts are wrapped within the last column.
func renderTexts(w io.Writer, rows []textRow) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row.cells {
			if len(row.texts) == 0 {
				continue
			}
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], runewidth.StringWidth(printable(cell)))
		}
	}
	width, _ := sizeOf(w)
	for _, row := range rows {
		if len(row.texts) == 0 {
			fmt.Fprintln(w, strings.Join(row.cells, " "))
			continue
		}
		first, others := "", ""
		for i, cell := range row.cells {
			first += runewidth.FillRight(printable(cell), widths[i]+columnGap)
			others += strings.Repeat(" ", widths[i]+columnGap)
		}
		for _, text := range row.texts {
			for _, line := range wrap(text, first, others, width) {
				fmt.Fprintln(w, line)
			}
			first = others
		}
	}
}
