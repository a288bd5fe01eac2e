package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"misstep/agent"
	"misstep/bench"
	"misstep/bench/trial"
	"misstep/deploy/jdk"
)

// growth is the memory of one long run with all checks, and of a run of the same program without the agent.
type growth struct {
	Workload string
	// Resident memory, and the allocated part of the C library's heap: freed memory that malloc keeps is not a leak.
	Resident, InUse series
}

// series is a size in MiB over the seconds since the start, with the agent and without.
type series struct{ Seconds, With, Without []float64 }

func (s *series) add(since time.Duration, with, without float64) {
	s.Seconds, s.With, s.Without = append(s.Seconds, since.Seconds()), append(s.With, with), append(s.Without, without)
}

// settled returns the second half, by which time the program's own code has been compiled.
func (s series) settled() series {
	half := len(s.Seconds) / 2
	return series{s.Seconds[half:], s.With[half:], s.Without[half:]}
}

// own returns what the agent adds.
func (s series) own() []float64 {
	var own []float64
	for i := range s.Seconds {
		own = append(own, s.With[i]-s.Without[i])
	}
	return own
}

// measureGrowth runs one workload with and without the agent at the same time until the time is up. Their heaps have their full
// size from the start. The JVM grows without the agent as well (code cache, compilers' arenas, metaspace), and may settle later:
// the goal applies to the JVM with the agent, the other one shows how much of the growth is the JVM's own.
func measureGrowth(outer context.Context, bed *trial.Bed, on jdk.Entry, until time.Time) (*growth, error) {
	g := &growth{Workload: "h2"}
	spec := trial.Spec{
		JDK: on, Workload: g.Workload, Repetitions: 1 << 30, Flags: []string{
			"-Xms512m", "-Xmx512m", "-XX:+AlwaysPreTouch",
			"-XX:+UseSerialGC",
		},
	}
	control := spec
	spec.Agent = &agent.Options{
		Seed: 1, Ratio: 1, Interval: 200 * time.Microsecond, Jitter: 0.5,
		Checks: allChecks(0.001), Reference: "trace:0.0001",
	}
	start := time.Now()
	group, ctx := errgroup.WithContext(outer) // the failure of either ends both
	running := func() bool { return ctx.Err() == nil && time.Now().Before(until) }
	var with, without atomic.Int64 // their process ids
	keep := func(what string, s trial.Spec, pid *atomic.Int64) {
		group.Go(func() error {
			r, err := bed.Run(ctx, s, func(p int, _ string) bool {
				pid.Store(int64(p))
				return running()
			})
			if err == nil && running() {
				err = fmt.Errorf("measure growth: the JVM %s the agent ended: %s", what, r.Failure)
			}
			return err
		})
	}
	keep("without", control, &without)
	keep("with", spec, &with)
	watch := func(s *series, every time.Duration, size func(pid int) (float64, error)) {
		group.Go(func() error {
			for ticker := time.NewTicker(every); running(); {
				select {
				case <-ctx.Done():
				case <-ticker.C:
				}
				if with.Load() == 0 || without.Load() == 0 {
					continue
				}
				a, err := size(int(with.Load()))
				b, err1 := size(int(without.Load()))
				if errors.Join(err, err1) == nil { // a JVM that has ended is reported by its Run
					s.add(time.Since(start), a, b)
				}
			}
			return nil
		})
	}
	watch(&g.Resident, time.Second, resident)
	watch(&g.InUse, 30*time.Second, func(pid int) (float64, error) { return inUse(ctx, on, pid) })
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if err := context.Cause(outer); err != nil {
		return nil, err
	}
	if len(g.Resident.Seconds) < 4 {
		return nil, errors.New("measure growth: the time was too short; set BUDGET to several minutes")
	}
	return g, nil
}

// inUse returns the allocated MiB of a JVM's C heap, from glibc's malloc_info.
func inUse(ctx context.Context, on jdk.Entry, pid int) (float64, error) {
	out, err := exec.CommandContext(ctx, filepath.Join(on.Path, "bin", "jcmd"), strconv.Itoa(pid),
		"System.native_heap_info").Output()
	if err != nil {
		return 0, fmt.Errorf("query the C heap of process %d: %w", pid, err)
	}
	type size struct {
		Type string `xml:"type,attr"`
		Size int64  `xml:"size,attr"`
	}
	var info struct {
		Total  []size `xml:"total"`
		System []size `xml:"system"`
	}
	_, document, _ := bytes.Cut(out, []byte("\n")) // after the process id
	if err := xml.Unmarshal(document, &info); err != nil {
		return 0, fmt.Errorf("read the C heap of process %d: %w", pid, err)
	}
	var used int64
	for _, s := range info.System {
		if s.Type == "current" {
			used += s.Size
		}
	}
	for _, s := range info.Total {
		switch s.Type {
		case "fast", "rest": // free
			used -= s.Size
		case "mmap": // outside the arenas
			used += s.Size
		}
	}
	return float64(used) / (1 << 20), nil
}

func (g *growth) reached() time.Duration {
	return time.Duration(g.Resident.Seconds[len(g.Resident.Seconds)-1] * float64(time.Second))
}

func (g *growth) table() bench.Table {
	t := bench.Table{
		Title:   "growth of h2, second half of the run, side by side",
		Columns: []string{"memory", "seconds", "MiB first", "MiB last", "MiB in 30 minutes"},
	}
	for _, s := range []struct {
		what string
		series
	}{{"resident", g.Resident.settled()}, {"C heap in use", g.InUse.settled()}} {
		if len(s.Seconds) < 2 { // a JDK before 21 does not report its C heap
			continue
		}
		for _, row := range []struct {
			what string
			mib  []float64
		}{{"without the agent", s.Without}, {"under all checks", s.With}, {"difference", s.own()}} {
			t.Rows = append(t.Rows, []string{
				s.what + ", " + row.what, fmt.Sprintf("%.0f–%.0f", s.Seconds[0], s.Seconds[len(s.Seconds)-1]),
				bench.Figure(row.mib[0]), bench.Figure(row.mib[len(row.mib)-1]),
				bench.Figure(bench.Slope(s.Seconds, row.mib) * 1800),
			})
		}
	}
	return t
}

// growthGoal is the growth that counts as none, in MiB in 30 minutes: about one per cent of such a JVM's memory.
const growthGoal = 10

func (g *growth) goal() bench.Goal {
	s := g.Resident.settled()
	return bench.Goal{
		Name:     fmt.Sprintf("growth under all checks, from the last %.0f s", s.Seconds[len(s.Seconds)-1]-s.Seconds[0]),
		Goal:     growthGoal,
		Measured: bench.Slope(s.Seconds, s.With) * 1800, Unit: "MiB in 30 minutes",
	}
}
