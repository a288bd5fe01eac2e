package main

import (
	"context"
	"io"

	"misstep/bpf"
	"misstep/deploy/vm"
)

// elsewhere lists the commands that parse their own words, since a command line of somebody else's follows theirs.
var elsewhere = map[string]func(ctx context.Context, args []string, stdout, stderr io.Writer) int{
	"sched": bpf.Command,
	"vm": func(_ context.Context, args []string, stdout, stderr io.Writer) int {
		return vm.Command(args, stdout, stderr)
	},
}

// rest is the entry of such a command in the help; main hands its words over before kong sees them.
type rest struct {
	Words []string `arg:"" optional:"" help:"See --help of the command."`
}
