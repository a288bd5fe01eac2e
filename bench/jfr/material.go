package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"misstep/agent"
	"misstep/bench/trial"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/judge/edges"
	"misstep/runner/judge/shadow"
	"misstep/runner/profiler"
	"misstep/runner/recording"
)

// material is what a run under a profiler left: all that judges need, in memory, so that it can be judged many times.
type material struct {
	combination
	records []recording.Record
	tap     agent.Tap
	methods []string
	program *edges.Program
	// files are those of the recording, output is that of the program's output.
	files  []string
	output string
}

// collect runs a combination with the agent's tap and its file of sites.
func collect(ctx context.Context, bed *trial.Bed, reader recording.Helper, c combination, seed uint64) (*material, error) {
	r := recipeOf(c, seed, bed.Agent)
	r.Checks = nil
	shadowed := recipe.JfrShadow
	if c.profiler.GetName() == recipe.ProfilerAsync {
		shadowed = recipe.ProfilerShadow
	}
	for _, name := range []string{shadowed, recipe.EventEdges} {
		r.Checks = append(r.Checks, &misstepv1.Check{Name: name})
	}
	out, err := os.MkdirTemp(bed.Dir, "recording-")
	if err != nil {
		return nil, fmt.Errorf("make the recording's folder: %w", err)
	}
	place := profiler.Place{Out: out, Work: out, Files: out}
	flags, err := started(r, &place, c.on)
	if err != nil {
		return nil, err
	}
	// Each new buffer of a thread is an event: enough for two chunks of the size that sensitivity asks for, and not many more.
	flags = append(flags, "-XX:TLABSize=16k", "-XX:-ResizeTLAB")
	options := agent.OptionsOf(r, "")
	run, err := bed.Run(ctx, trial.Spec{JDK: c.on, Workload: c.workload.Name, Repetitions: 1, Flags: flags, Agent: &options}, nil)
	switch {
	case err != nil:
		return nil, err
	case run.Failure != "":
		return nil, errors.New(run.Failure)
	}
	m := &material{combination: c, output: filepath.Join(run.Dir, "stdout")}
	folder := filepath.Join(run.Dir, "agent")
	if m.tap, err = agent.ReadTap(filepath.Join(folder, agent.FileTap)); err != nil {
		return nil, err
	}
	list, err := os.ReadFile(filepath.Join(folder, agent.FileMethods))
	if err != nil {
		return nil, fmt.Errorf("read the instrumented methods: %w", err)
	}
	m.methods = strings.Split(string(list), "\n")
	sites, err := agent.ReadSites(filepath.Join(folder, agent.FileSites))
	if err != nil {
		return nil, err
	}
	m.program = edges.NewProgram(sites)
	p, err := profiler.Of(r)
	if err != nil {
		return nil, err
	}
	if m.files, err = profiler.Recordings(p, place); err != nil {
		return nil, err
	}
	for _, file := range m.files {
		if _, _, err := reader.Read(ctx, file, recording.Limits{}, func(record recording.Record) error {
			m.records = append(m.records, record)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// shadowCheck is the check that compares the samples with the tap's shadows.
func (m *material) shadowCheck() string {
	if m.profiler.GetName() == recipe.ProfilerAsync {
		return recipe.ProfilerShadow
	}
	return recipe.JfrShadow
}

// shadowJudge returns a judge of that check.
func (m *material) shadowJudge() *shadow.Judge {
	in := shadow.Input{
		Check: m.shadowCheck(), Source: shadow.JFR, Feature: m.on.Feature, Tap: &m.tap, Methods: m.methods, Limit: 1,
	}
	if in.Check == recipe.ProfilerShadow {
		in.Source, in.Walker = shadow.AsyncProfiler, profiler.Walker(&misstepv1.Recipe{Profiler: m.profiler})
	}
	return shadow.New(in)
}

// edgesJudge returns a judge of event-edges.
func (m *material) edgesJudge() *edges.Judge {
	in := edges.Input{Program: m.program, Profiler: m.profiler.GetName(), Feature: m.on.Feature, Limit: 1}
	if in.Profiler == recipe.ProfilerAsync {
		in.Walker = profiler.Walker(&misstepv1.Recipe{Profiler: m.profiler})
	}
	return edges.New(in)
}
