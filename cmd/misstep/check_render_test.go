package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"misstep/app/check"
)

// Who meets something new reads how to get at its stacks, and a long class path does not fill the screen.
func TestReportOfANewFinding(t *testing.T) {
	r := &check.Report{
		Command: []string{"java", "-cp", strings.Repeat("lib/some.jar:", 100), "p.Main"}, Outcome: "mismatches",
		Bugs: []check.Bug{{ID: "F1", Count: 1}},
	}
	for hint, c := range map[string]checkCommand{
		"no known bugs; --bundle DIR keeps the stacks of each": {}, "no known bugs; --out DIR keeps their stacks": {PID: 1},
		"no known bugs\n": {Out: "seen"},
	} {
		var b bytes.Buffer
		renderCheck(&b, r, c.hint())
		assert.Contains(t, b.String(), "misstep: there are findings that are "+hint)
		assert.Less(t, strings.Index(b.String(), "p.Main: exit code 0"), 200)
		assert.Contains(t, b.String(), "…")
	}
	var b bytes.Buffer
	r.Bugs[0].Known = true
	renderCheck(&b, r, "hint")
	assert.NotContains(t, b.String(), "hint")
}
