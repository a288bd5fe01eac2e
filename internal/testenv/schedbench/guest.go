package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"misstep/bpf"
)

// Where the guest has what it needs.
const (
	guestSelf  = "/bench"
	guestCells = "/cells.json"
	guestRaces = "/races"
	guestScx   = "/scx_chaos"
)

// cellLimit bounds a cell by the guest's clock, above what the race itself keeps to: hangs of a JVM, a scheduler's ejection.
const cellLimit = 10 * time.Minute

// guestCellsMain runs the cells of a file one after the other and writes a line of JSON for each.
func guestCellsMain(ctx context.Context, java string) error {
	text, err := os.ReadFile(guestCells)
	if err != nil {
		return fmt.Errorf("reading the cells: %w", err)
	}
	var cells []cell
	if err := json.Unmarshal(text, &cells); err != nil {
		return fmt.Errorf("reading the cells: %w", err)
	}
	out := json.NewEncoder(os.Stdout)
	for _, c := range cells {
		if err := out.Encode(runCell(ctx, c, java)); err != nil {
			return fmt.Errorf("writing a result: %w", err)
		}
	}
	return nil
}

// command of a race; those whose names begin with a capital are Java.
func (c cell) command(java string) []string {
	arguments := []string{fmt.Sprint(c.Iterations), fmt.Sprint(c.Seconds)}
	if c.Race[0] >= 'A' && c.Race[0] <= 'Z' {
		return append([]string{java, "-Xmx128m", "-cp", guestRaces + "/java", c.Race}, arguments...)
	}
	return append([]string{guestRaces + "/" + c.Race}, arguments...)
}

func runCell(ctx context.Context, c cell, java string) result {
	r := result{cell: c}
	ctx, cancel := context.WithTimeout(ctx, cellLimit)
	defer cancel()
	var output bytes.Buffer
	var err error
	if c.Strategy == scxChaos {
		err = runScxChaos(ctx, c.command(java), &output)
	} else {
		var run *bpf.Result
		command := c.command(java)
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Stdout, cmd.Stderr = &output, &output
		p := bpf.Perturbation{Strategy: c.Strategy, Seed: c.Seed, Parameters: c.Parameters}
		if run, err = bpf.Run(ctx, bpf.Options{Perturbation: p}, cmd); err == nil {
			if run.Report.Ejection != nil {
				err = fmt.Errorf("ejected: %s", run.Report.Ejection)
			}
			r.Applied = run.Report.Applied()
		}
	}
	if err != nil {
		r.Trouble = err.Error()
		return r
	}
	r.judge(output.String())
	return r
}

// scxFlags switch on what scx_chaos can do to a program: by default it does nothing. Its README's example, with its own defaults elsewhere.
var scxFlags = []string{"--random-delay-frequency", "0.1", "--random-delay-min-us", "100", "--random-delay-max-us", "1000"}

// runScxChaos runs a command under scx_chaos. That starts its program before it is attached; so that it gets its best, the program
// waits for it. Its exit code says nothing of the program's.
func runScxChaos(ctx context.Context, command []string, output *bytes.Buffer) error {
	const wait = `until grep -q enabled /sys/kernel/sched_ext/state; do usleep 1000; done; "$@"; echo "left $(cat /sys/kernel/sched_ext/state)"`
	args := append(append([]string{}, scxFlags...), "--", "/bin/sh", "-c", wait, "sh")
	cmd := exec.CommandContext(ctx, guestScx, append(args, command...)...)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("scx_chaos: %w: %.1000q", err, output.String())
	}
	if !strings.Contains(output.String(), "left enabled") {
		return fmt.Errorf("scx_chaos was not attached all the time: %.1000q", output.String())
	}
	return settled(ctx)
}

// settled waits until no scheduler is attached.
func settled(ctx context.Context) error {
	for {
		state, err := os.ReadFile("/sys/kernel/sched_ext/state")
		if err != nil {
			return fmt.Errorf("looking for the scheduler's end: %w", err)
		}
		if strings.TrimSpace(string(state)) == "disabled" {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.New("scx_chaos does not end")
		case <-time.After(10 * time.Millisecond):
		}
	}
}
