package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"misstep/bpf"
	"misstep/schedule"
)

// Paths in the guest.
const (
	guestSelf = "/bench"
	guestScx  = "/scx_chaos"
)

// Environment variables with the paths of races, cells and Java in the guest: in a shared guest those of the host.
const (
	racesVariable = "MISSTEP_BENCH_RACES"
	cellsVariable = "MISSTEP_BENCH_CELLS"
	javaVariable  = "MISSTEP_BENCH_JAVA"
)

// cellLimit bounds a cell by the guest's clock, above the race's own limit: for hangs of a JVM, or a scheduler's ejection.
const cellLimit = 10 * time.Minute

// guestCells runs the cells of a file one after the other and writes a line of JSON for each.
func guestCells(ctx context.Context) error {
	cells, err := readCells()
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	for _, c := range cells {
		if err := out.Encode(runCell(ctx, c)); err != nil {
			return fmt.Errorf("writing a result: %w", err)
		}
	}
	return nil
}

func readCells() (cells []cell, err error) {
	path := os.Getenv(cellsVariable)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the cells: %w", err)
	}
	if err := json.Unmarshal(text, &cells); err != nil {
		return nil, fmt.Errorf("reading the cells: %w", err)
	}
	return cells, nil
}

func (c cell) command() []string {
	races := os.Getenv(racesVariable)
	if c.isLibrary() {
		return libraryCommand(c)
	}
	if c.isJcstress() {
		return jcstressCommand(c)
	}
	arguments := []string{fmt.Sprint(c.Iterations), fmt.Sprint(c.Seconds)}
	if c.isJava() { // no collection during a run: it is triggered by an allocation, which may be the only thing in a race's window
		return append([]string{
			os.Getenv(javaVariable), "-Xms128m", "-Xmx128m", "-Xmn100m", "-cp", filepath.Join(races, "java"),
			c.Race,
		}, arguments...)
	}
	return append([]string{filepath.Join(races, c.Race)}, arguments...)
}

func runCell(ctx context.Context, c cell) result {
	ctx, cancel := context.WithTimeout(ctx, cellLimit)
	defer cancel()
	flags, other := scxFlags[c.Strategy]
	if !other {
		return runOurs(ctx, c, bpf.Options{Perturbation: schedule.Perturbation{Strategy: c.Strategy, Seed: c.Seed}})
	}
	r := result{cell: c}
	began := time.Now()
	var output bytes.Buffer
	if err := runScxChaos(ctx, flags, c.command(), &output); err != nil {
		r.Trouble = err.Error()
		return r
	}
	r.judge(output.String(), time.Since(began))
	return r
}

// ejection begins the trouble of a cell that the kernel ended.
const ejection = "ejected"

// runOurs runs a cell's race under Misstep's scheduler.
func runOurs(ctx context.Context, c cell, o bpf.Options) result {
	r := result{cell: c}
	var output bytes.Buffer
	command := c.command()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = &output, &output
	began := time.Now()
	run, err := bpf.Run(ctx, o, cmd)
	took := time.Since(began)
	if err == nil && run.Report.Ejection != nil {
		err = fmt.Errorf("%s: %s", ejection, run.Report.Ejection)
	}
	if err != nil {
		r.Trouble = err.Error()
		return r
	}
	r.Applied = run.Report.Applied()
	if run.Report.Replay != nil {
		for _, stop := range run.Report.Replay.Stops {
			r.Places = append(r.Places, stop.Place)
		}
	}
	r.judge(output.String(), took)
	return r
}

// scxFlags enable random delays, without which scx_chaos does nothing, by strategy: those of its README's example, and those at the
// scale of periodic races, the plain policy that chaos is compared with.
var scxFlags = map[string][]string{
	scxChaos: {"--random-delay-frequency", "0.1", "--random-delay-min-us", "100", "--random-delay-max-us", "1000"},
	scxSlow:  {"--random-delay-frequency", "0.2", "--random-delay-min-us", "1000", "--random-delay-max-us", "10000"},
}

// runScxChaos runs a command under scx_chaos. It starts its program before it is attached, so the program waits for that, to
// scx_chaos's advantage. Its exit code does not depend on the program's.
func runScxChaos(ctx context.Context, flags, command []string, output *bytes.Buffer) error {
	const wait = `until grep -q enabled /sys/kernel/sched_ext/state; do usleep 1000; done; "$@"; ` +
		`echo "left $(cat /sys/kernel/sched_ext/state)"`
	args := append(slices.Clone(flags), "--", "/bin/sh", "-c", wait, "sh")
	cmd := exec.CommandContext(ctx, guestScx, append(args, command...)...)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("scx_chaos: %w: %.1000q", err, output.String())
	}
	if !strings.Contains(output.String(), "left enabled") {
		return fmt.Errorf("scx_chaos was not attached throughout: %.1000q", output.String())
	}
	return settled(ctx)
}

// settled waits until no scheduler is attached.
func settled(ctx context.Context) error {
	for {
		state, err := os.ReadFile("/sys/kernel/sched_ext/state")
		if err != nil {
			return fmt.Errorf("waiting for the scheduler's end: %w", err)
		}
		if strings.TrimSpace(string(state)) == "disabled" {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.New("scx_chaos is still attached")
		case <-time.After(10 * time.Millisecond):
		}
	}
}
