package main

import (
	"io"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/internal/reference"
)

func parser(t *testing.T) *kong.Kong {
	t.Helper()
	parser, err := newParser(t.Context(), &cli{}, io.Discard, io.Discard, func(int) {})
	require.NoError(t, err)
	return parser
}

// Every flag and argument with a default shows it in its help.
func TestHelpShowsEveryDefault(t *testing.T) {
	shown := 0
	check := func(node *kong.Node, value *kong.Value) {
		if !value.HasDefault || value.Default == "" || value.IsBool() {
			return
		}
		shown++
		help := helpWithDefault(value)
		assert.Contains(t, help, "default", "%s: %s", node.FullPath(), value.Name)
		assert.Contains(t, strings.ReplaceAll(help, ",", ""), value.Default, "%s: %s", node.FullPath(), value.Name)
	}
	require.NoError(t, kong.Visit(parser(t).Model, func(node kong.Visitable, next kong.Next) error {
		n, ok := node.(*kong.Node)
		if app, is := node.(*kong.Application); is {
			n, ok = app.Node, true
		}
		if ok {
			for _, flag := range n.Flags {
				check(n, flag.Value)
			}
			for _, arg := range n.Positional {
				check(n, arg)
			}
		}
		return next(nil)
	}))
	assert.Greater(t, shown, 15, "values with a default")

	_, out, _ := execute(t, "reproduce", "--help")
	text := strings.Join(strings.Fields(out), " ")
	assert.Contains(t, text, "Maximum time (default 1h).")
	assert.Contains(t, text, "0 skips them (default 10).")
}

// The table of exit codes speaks of commands that there are, and each command's help has its codes.
func TestExitCodesOfEveryCommand(t *testing.T) {
	commands := map[string]bool{"": true}
	for _, leaf := range parser(t).Model.Leaves(true) {
		commands[strings.TrimPrefix(leaf.FullPath(), "misstep ")] = true
	}
	seen := map[exitMeaning]bool{}
	for _, m := range exitCodes {
		assert.True(t, commands[m.Command], "no command %q", m.Command)
		assert.NotEmpty(t, m.Meaning)
		key := exitMeaning{Command: m.Command, Code: m.Code}
		assert.False(t, seen[key], "%s %d twice", m.Command, m.Code)
		seen[key] = true
	}
	for command, want := range map[string]string{
		"run": "4  void: nothing was proved", "sched run": "123  the kernel ejected",
		"vm replay": "125  the virtual machine failed",
		"reproduce": "1  not reproduced", "jdk list": "2  bad input or failure",
	} {
		code, out, _ := execute(t, append(strings.Fields(command), "--help")...)
		assert.Equal(t, exitOK, code)
		assert.Contains(t, out, want, command)
	}
	_, out, _ := execute(t, "jdk", "--help")
	assert.NotContains(t, out, "Exit codes")
}

func TestReferenceOfExitCodes(t *testing.T) {
	const bundles = "`run.sh` of a bundle: 0 reproduced, 1 not reproduced, 2 could not run. `standalone/run.sh`: 0 the walkers agree, 1 they " +
		"differ, 2 could not run."
	const interrupts = "The first SIGINT (Ctrl-C) or SIGTERM lets a command end in order: `coordinator` and `runner` with 0, commands that pass " +
		"on a program's exit code with that one, all others with 2. A second one ends the process at once, which a shell shows as 130 " +
		"(128 and the number of SIGINT) or 143 (SIGTERM)."
	reference.Hold(t, "../..", "exit-codes.md",
		reference.Generated+"# Exit codes\n\n"+exitCodeTable()+"\n"+reference.Paragraph(interrupts)+"\n\n"+
			reference.Paragraph(bundles)+"\n")
}
