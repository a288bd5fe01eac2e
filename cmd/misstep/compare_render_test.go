package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"
	"github.com/stretchr/testify/assert"

	"misstep/app/compare"
	"misstep/internal/paired"
)

// However long names, versions and intervals are, a comparison fits 80 columns, and its tables a screen.
func TestComparisonFits(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	ratio, low, high := 193.02, 26.10, 1427.28
	r := &compare.Report{
		Builds: [2]compare.Build{{JDK: "jdk25", Version: strings.Repeat("v", 200)}, {JDK: "/home/anna/jdk", Version: "25"}}, Pairs: 40,
		Options: compare.Options{Margin: 1.25}, LeftOut: []string{strings.Repeat("x", 90)}, Overall: paired.Worse,
	}
	for i := range 30 {
		m := compare.Measure{
			Of: fmt.Sprintf("MISSTEP-deoptimised-caller-%d", i), Shares: [2]float64{0.000018, 0.0035}, Ratio: &ratio, Low: &low, High: &high,
			Verdict: paired.Undecided, Time: 31 * time.Hour, Pairs: 40,
		}
		if i < 2 {
			m.Verdict = paired.Worse
		}
		r.Bugs = append(r.Bugs, m)
	}
	r.Walkers = []compare.Measure{{Of: "asgct-shadow", What: "lost", Verdict: paired.NotSeen, Bound: 0.045}}
	var b bytes.Buffer
	renderComparison(&b, r)
	for line := range strings.Lines(b.String()) {
		assert.LessOrEqual(t, runewidth.StringWidth(strings.TrimRight(line, "\n")), 80, "%s", line)
	}
	assert.Contains(t, b.String(), "… and 10 more")
	assert.Contains(t, b.String(), "in at most 4.5 % of trials")
	assert.Contains(t, b.String(), "worse: 2 worse, 0 better")
}
