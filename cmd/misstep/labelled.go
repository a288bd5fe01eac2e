package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// labelled prints rows of a label and a value that is wrapped to a width.
type labelled struct {
	w     io.Writer
	width int
}

const (
	labelWidth   = 13  // columns of a label and its distance
	narrowest    = 40  // columns of a line, however narrow the terminal is
	defaultWidth = 100 // columns where the output is no terminal
)

// widthOf returns the width of the terminal that a writer writes to.
func widthOf(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return max(width, narrowest)
		}
	}
	return defaultWidth
}

// line prints words from the first column on.
func (l *labelled) line(text string) { l.print("", "  ", text) }

// row prints a label with its text, whose further lines are indented; nothing for an empty text.
func (l *labelled) row(label, text string) {
	if text != "" {
		l.print(fmt.Sprintf("  %-*s", labelWidth-2, label), strings.Repeat(" ", labelWidth+2), text)
	}
}

// rows prints texts below each other, the first one after the label.
func (l *labelled) rows(label string, texts []string) {
	for _, text := range texts {
		l.row(label, text)
		label = ""
	}
}

// print prints words after the first indentation, and continues them after the other one. A word that is longer than a line is not
// broken, so that it can be copied.
func (l *labelled) print(first, others, text string) {
	var b strings.Builder
	b.WriteString(first)
	column, begun := utf8.RuneCountInString(first), false
	for word := range strings.FieldsSeq(printable(text)) {
		n := utf8.RuneCountInString(word)
		switch {
		case !begun:
		case column+1+n > l.width:
			b.WriteString("\n" + others)
			column = utf8.RuneCountInString(others)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column, begun = column+n, true
	}
	fmt.Fprintln(l.w, b.String())
}
