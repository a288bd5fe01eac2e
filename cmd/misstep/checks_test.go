package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"
	"github.com/stretchr/testify/require"

	"misstep/app/doctor"
	"misstep/coordinator/campaign"
	"misstep/recipe"
)

// A check of the table can be asked for in a campaign, and is listed.
func TestEveryPartKnowsTheChecks(t *testing.T) {
	for _, check := range recipe.Checks() {
		spec := fmt.Sprintf(
			`{name: a, jdks: [x], workloads: [{name: w}], instrumentation: [{ratio: 1}], sampling: [{interval: 1ms}],
  profiler: [{name: %s}], checks: [{name: %s}, {name: %s}], budget: {trials: 1}}`,
			append(check.Profilers, recipe.ProfilerNone)[0], check.Name,
			map[bool]string{true: recipe.Liveness, false: recipe.AsgctShadow}[check.Name == recipe.AsgctShadow],
		)
		_, err := campaign.Load([]byte(spec), "c.yaml")
		require.NoError(t, err, check.Name)
	}
	var b strings.Builder
	renderWords(&b, recipe.Words(), nil, false)
	for _, name := range recipe.Names(recipe.Checks()) {
		require.Contains(t, b.String(), "  "+name+" ")
	}
	require.Contains(t, strings.Join(strings.Fields(b.String()), " "), "by default 0.001 of method entries")
}

// Texts are wrapped within the last column; only a word that is longer than that column goes beyond the terminal.
func TestTablesOfTextsFitTheTerminal(t *testing.T) {
	for _, width := range []int{60, 80, 100} {
		t.Setenv("COLUMNS", strconv.Itoa(width))
		var b strings.Builder
		renderWords(&b, recipe.Words(), nil, false)
		renderDiagnoses(&b, []doctor.Diagnosis{
			{Name: "reading recordings", State: doctor.Limited, Detail: strings.Repeat("word ", 40), Remedy: strings.Repeat("remedy ", 40)},
		})
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSuffix(line, "\n")
			_, text, _ := cutLast(strings.TrimSpace(line), "  ")
			if strings.Contains(text, " ") {
				require.LessOrEqual(t, runewidth.StringWidth(line), width, line)
			}
		}
		require.Contains(t, b.String(), "limited  reading recordings  word word")
		require.Regexp(t, `(?m)^ {29}→ remedy remedy`, b.String())
		require.Equal(t, 40, strings.Count(b.String(), "remedy"), "nothing is cut")
	}
}

// cutLast is strings.Cut at the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return "", s, false
}
