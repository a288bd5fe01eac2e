package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"misstep/app/report"
	"misstep/triage"
)

func TestLabelled(t *testing.T) {
	var b strings.Builder
	l := &labelled{w: &b, width: 40}
	l.line("a title of some words that are wrapped at 40")
	l.row("label", "")
	l.rows("label", []string{"one two three four five six seven", "a\x1b[31mcolour", strings.Repeat("x", 50)})
	assert.Equal(t, "a title of some words that are wrapped\n  at 40\n"+
		"  label      one two three four five six\n               seven\n"+
		"             a?[31mcolour\n"+
		"             "+strings.Repeat("x", 50)+"\n", b.String())
}

// An answer fits the width, whatever is in the report; words are not broken.
func TestAnswerWithinTheWidth(t *testing.T) {
	a := report.Answer{
		ID: "F0123456789ab", File: "hs_err.log", Kind: "hang", KnownAs: "JDK-1",
		Signature: []string{"hang", "limit", strings.Repeat("wait ", 60)},
		Explanation: report.Explanation{
			Title: strings.Repeat("title ", 40), JVM: "OpenJDK 17",
			Explanation: triage.Explanation{Rule: "hang/x", Reason: strings.Repeat("because ", 40), Facts: []triage.Fact{
				{Name: "none", Value: 0},
				{Name: "flag", Value: true},
				{Name: "long", Value: strings.Repeat("ä ", 400)},
				{Name: triage.ThreadFact + "idle", Value: "seen; " + triage.LeftOut + "idle"},
				{Name: triage.PartFact + "1", Value: "limit"},
			}},
			Known: []report.Known{
				{
					ID: "JDK-1", Title: "a bug", Link: "https://bugs.openjdk.org/browse/JDK-1", Versions: []string{"9..", "..8", "11..11"},
					Here: true,
				},
				{ID: "JDK-2", Title: "another", Versions: []string{"17..17.0.9"}},
			},
			Finding: &report.Finding{ID: "F0123456789ab", Hits: 3, Title: strings.Repeat("title ", 40)},
			Nearest: []report.Near{{ID: "F1", Score: 0.5, Reason: strings.Repeat("same frame, ", 20), Title: "near"}},
		},
	}
	for range 40 {
		a.Explanation.Facts = append(a.Explanation.Facts, triage.Fact{Name: "many", Value: 1})
	}
	for _, width := range []int{60, 80, 200} {
		var b strings.Builder
		renderAnswer(&labelled{w: &b, width: width}, a)
		for line := range strings.Lines(b.String()) {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), width, line)
		}
	}
	var b strings.Builder
	renderAnswer(&labelled{w: &b, width: 200}, a)
	for _, want := range []string{
		"known as   JDK-1\n             a bug\n             https://bugs.openjdk.org/browse/JDK-1\n             " +
			"versions that have it: 9 and later, 8 and earlier, 11\n",
		"  facts      flag\n", "finding    F0123456789ab, 3 hits: title", "nearest    F1, 50 % alike, same frame,", "and 26 more, in --json\n",
	} {
		assert.Contains(t, b.String(), want)
	}
	for _, not := range []string{"none", "idle", "JDK-2", "another"} {
		assert.NotContains(t, b.String(), not)
	}
}
