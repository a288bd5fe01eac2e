package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"misstep/app/check"
	"misstep/app/local"
	"misstep/bench"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/workloads"
)

const (
	alone   = "alone" // the program without Misstep
	nothing = "start" // a program that does nothing: what the JVM, and the agent in it, need to start
)

// grace is the time that a program has to end when the budget is over.
const grace = 100 * time.Millisecond

// variants of misstep check. An entry check a billion entries is the least that instruments anything.
var variants = []struct {
	name string
	check.Selection
	budget float64
}{
	{"light", check.Selection{Light: true, Seed: 1}, 0},
	{"instrumented", check.Selection{Ratio: 1, Seed: 1, Checks: []string{recipe.ShadowGst + "=1e-9", recipe.Liveness}}, 0},
	{
		"no leaves",
		check.Selection{Ratio: 1, Seed: 1, Checks: []string{recipe.ShadowGst + "=1e-9", recipe.Liveness}, WithoutLeaves: true},
		0,
	},
	{"default", check.Selection{Ratio: 1, Seed: 1}, 0.05},
}

// cell is one program on one JDK; figures are by variant, one for each round.
type cell struct {
	Program  string               `json:"program"`
	JDK      string               `json:"jdk"`
	CPU      map[string][]float64 `json:"cpu_s"`
	RSS      map[string][]float64 `json:"rss_bytes"`
	Compared map[string]uint64    `json:"compared"`
	New      []string             `json:"new_findings"`

	command []string
}

// commandOf returns the command that somebody would start a workload by.
func commandOf(i local.Installation, name, jdk, scratch string) ([]string, error) {
	build, err := i.JDKs().Get(jdk)
	if err != nil {
		return nil, err
	}
	java := filepath.Join(build.Path, "bin", "java")
	if name == nothing {
		return []string{java, "-version"}, nil
	}
	entry, err := i.Workloads().Get(name)
	if err != nil {
		return nil, err
	}
	manifest, err := workloads.Load(entry.Path)
	if err != nil {
		return nil, err
	}
	invocation, err := manifest.Invocation(entry.Path, &misstepv1.Workload{Name: name}, scratch)
	if err != nil {
		return nil, err
	}
	command := append([]string{java}, invocation.JVMFlags...)
	return append(command, invocation.Args...), nil
}

func (c *cell) ratio(variant string) float64 {
	return bench.Median(c.CPU[variant]) / bench.Median(c.CPU[alone])
}

// measure runs the program once alone and once in each variant.
func (c *cell) measure(ctx context.Context, i local.Installation) error {
	if c.CPU == nil {
		c.CPU, c.RSS, c.Compared = map[string][]float64{}, map[string][]float64{}, map[string]uint64{}
	}
	cmd := exec.CommandContext(ctx, c.command[0], c.command[1:]...)
	if output, err := cmd.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("run %s alone: %w: %.500s", c.Program, err, output)
	}
	state := cmd.ProcessState
	c.note(alone, (state.UserTime() + state.SystemTime()).Seconds(), 0)
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		c.RSS[alone] = append(c.RSS[alone], float64(usage.Maxrss)*1024)
	}
	deadline, _ := ctx.Deadline()
	for _, v := range variants {
		r, err := check.Run(ctx, check.Options{
			Installation: i, Command: c.command, Selection: v.Selection, Budget: v.budget, Stdout: io.Discard, Stderr: io.Discard,
			For: time.Until(deadline) + grace, // the context does not end a program that was started
		})
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("check %s: %w", c.Program, err)
		}
		if r.ExitCode != 0 {
			return fmt.Errorf("check %s, %s: it ended with exit code %d, and with 0 alone", c.Program, v.name, r.ExitCode)
		}
		var compared uint64
		for _, k := range r.Checks {
			compared += k.Match + k.Mismatch
		}
		c.note(v.name, r.CPU.Seconds(), compared)
		c.RSS[v.name] = append(c.RSS[v.name], float64(r.MaxRSS))
		for _, b := range r.Bugs {
			if !b.Known {
				c.New = append(c.New, v.name+": "+b.ID+" "+b.Title)
			}
		}
	}
	return nil
}

func (c *cell) note(variant string, cpu float64, compared uint64) {
	c.CPU[variant] = append(c.CPU[variant], cpu)
	c.Compared[variant] += compared
}
