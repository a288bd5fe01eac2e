package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/check"
	"misstep/app/compared"
	misstepv1 "misstep/proto/misstep/v1"
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

// A JDK 8 is known by its own number, not by its VM's, which is 25.
func TestBuildOfAJDK(t *testing.T) {
	const vm = "OpenJDK 64-Bit Server VM"
	for version, want := range map[string]string{
		vm + " (25.504-b01) for linux-amd64 JRE (1.8.0_504-b01), built on Aug 20": vm + " (1.8.0_504-b01)",
		vm + " (25.0.3+9-LTS) for linux-amd64 JRE (25.0.3+9-LTS), built on x":     vm + " (25.0.3+9-LTS)",
		"several JDKs": "several JDKs", "": "", "a (b for c JRE (d": "a (b",
	} {
		assert.Equal(t, want, buildOf(check.JDK{Version: version}))
	}
}

func TestHowAProgramEnded(t *testing.T) {
	for want, r := range map[string]check.Report{
		"exit code 3; with the agent: wall 2s, cpu 1s, peak memory 1.0 MiB": {ExitCode: 3, Wall: 2e9, CPU: 1e9, MaxRSS: 1 << 20},
		"ended by signal 9; with the agent: wall 2s, cpu 1s, peak memory at most 1.0 MiB": {
			ExitCode: -1, Signal: 9, Wall: 2e9, CPU: 1e9, MaxRSS: 1 << 20, MaxRSSBound: true,
		},
		"checked for 7.91s":              {ExitCode: -1, Wall: 7.91e9},
		"exit code unknown":              {ExitCode: -1},
		"checked for 1s, crash: SIGSEGV": {ExitCode: -1, Wall: 1e9, Outcome: "crash", Reason: "SIGSEGV"},
	} {
		assert.Equal(t, want, ended(&r))
	}
}

// That the walkers are right is never said alone where much was lost, and always with what could have been missed.
func TestNoMismatchIsNotSaidAlone(t *testing.T) {
	of := func(lost uint64) *check.Report {
		return &check.Report{Outcome: "clean", Compared: compared.Of("JDK 25", "none", []*misstepv1.CheckCount{
			{Check: "asgct-shadow", Total: 1000, Match: 1000 - lost, Unwalkable: map[int32]uint64{-5: lost}},
		}, nil)}
	}
	assert.Equal(t, "no mismatch: in what was checked, the walkers gave the program's stacks; with 95 % confidence at most 0.37 % of "+
		"what is compared is wrong (asgct-shadow on JDK 25, which compared least: 1000)", verdict(of(0), ""))
	r := of(420)
	assert.Equal(t, "no mismatch in what was compared; of the rest nothing is known; with 95 % confidence at most 0.63 % of "+
		"what is compared is wrong (asgct-shadow on JDK 25, which compared least: 580)", verdict(r, ""))
	var b bytes.Buffer
	renderCheck(&b, r, "")
	lost := strings.Index(b.String(), "AsyncGetCallTrace on JDK 25 lost 42% of its stacks (asgct-shadow): 1000 asked, 580 compared")
	require.Positive(t, lost)
	assert.Less(t, lost, strings.Index(b.String(), "misstep: no mismatch"))
	r.Bugs = []check.Bug{{ID: "JDK-1", Known: true}}
	assert.Equal(t, "all findings are known bugs; of what was not compared, nothing is known", verdict(r, ""))
	r.Outcome, r.Reason = "void", "it was short"
	assert.Equal(t, "void, nothing is proved: it was short", verdict(r, ""))
}
