package main

import (
	"fmt"
	"io"
	"strings"
)

// labelled prints rows of a label and a value that is wrapped to a width.
type labelled struct {
	w     io.Writer
	width int
}

// labelWidth is the columns of a label and its distance.
const labelWidth = 13

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

// print prints words after the first indentation, and continues them after the other one.
func (l *labelled) print(first, others, text string) {
	for _, line := range wrap(text, first, others, l.width) {
		fmt.Fprintln(l.w, line)
	}
}
