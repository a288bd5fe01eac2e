package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/agent"
	"misstep/bench"
	"misstep/bench/trial"
	"misstep/deploy/jdk"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/judge/shadow"
	"misstep/runner/profiler"
	"misstep/runner/recording"
)

// The part rediscovery tells which of AsyncGetCallTrace's known bugs the walkers of JFR and async-profiler have. The tap asks
// AsyncGetCallTrace in every call of a sampler's handler, so that both walk at the same instant, and both are compared with the
// same shadow. Where AsyncGetCallTrace loses the stack by a known bug, it shows whether the sampler loses it, too, and in the same
// way.
//
// Runs are stored in build/bench/jfr.rediscovery.jsonl, with which a later run continues.

// asgct names AsyncGetCallTrace among the samplers.
const asgct = "ASGCT"

// jfrVariant stands for JFR with all its samplers; other variants are walkers of async-profiler.
const jfrVariant = "jfr"

// variants in two halves: the second one is measured after the first one on all of a JDK's cases.
var variants = [][]string{{jfrVariant, "vm", "no"}, {"vmx", "fp", "dwarf"}}

// features are tried in this order.
var features = []int{17, 25, 28, 11, 21, 26, 8, 27}

// walkRun is one run under one profiler.
type walkRun struct {
	// Fingerprint is of all that a figure depends on besides the names.
	Fingerprint, Case, JDK, Version, Variant string
	Feature, Round                           int
	// Wall is in seconds.
	Wall    float64
	Failure string `json:",omitempty"`
	Pairs   []pair
}

// pair counts instants at which two walkers had the same forms.
type pair struct {
	// Sampler that took the sample.
	Sampler string
	// Walked is the form of AsyncGetCallTrace's walk, Sampled that of the sampler's.
	Walked, Sampled form
	Count           uint64
	// First is when the first one was, in seconds from the first call of a handler.
	First float64
	// Example has the frames of the first wrong sample, top first.
	Example string `json:",omitempty"`
}

type rediscovery struct {
	bed     *trial.Bed
	reader  recording.Helper
	classes string
	store   *bench.Store[walkRun]
}

func measureRediscovery(ctx context.Context, bed *trial.Bed, reader recording.Helper, until time.Time) (*walkTable, error) {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	classes, err := compilePrograms(bed)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll("build/bench", 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for measurements: %w", err)
	}
	store, err := bench.OpenStore[walkRun]("build/bench/jfr.rediscovery.jsonl")
	if err != nil {
		return nil, err
	}
	defer store.Close()
	m := &rediscovery{bed: bed, reader: reader, classes: classes, store: store}
	planned := m.plan()
	for round := 0; ctx.Err() == nil && len(planned) > 0; round++ {
		for _, r := range planned {
			r.Round = round
			if m.done(r.walkRun) {
				continue
			}
			err := m.run(ctx, &r.walkRun, r.on)
			if ctx.Err() != nil {
				break
			}
			if err != nil {
				r.Failure = err.Error()
			}
			bench.Note("%s on %s under %s: %.1f s, %d instants %s", r.Case, r.JDK, r.Variant, r.Wall, r.instants(), r.Failure)
			if err := store.Add(r.walkRun); err != nil {
				return nil, err
			}
		}
	}
	var current []walkRun
	for _, r := range store.Entries {
		for _, p := range planned {
			if r.Fingerprint == p.Fingerprint {
				current = append(current, r)
				break
			}
		}
	}
	return newWalkTable(current), nil
}

// plannedRun is a run and its JDK.
type plannedRun struct {
	walkRun
	on jdk.Entry
}

// plan lists one round: two JDKs with all cases first, then two more.
func (m *rediscovery) plan() (all []plannedRun) {
	for i := 0; i < len(features); i += 2 {
		for _, half := range variants {
			for _, c := range bugCases {
				for _, feature := range features[i : i+2] {
					all = append(all, m.planned(c, feature, half)...)
				}
			}
		}
	}
	return all
}

func (m *rediscovery) planned(c bugCase, feature int, variants []string) (all []plannedRun) {
	on, ok := m.bed.JDK(feature)
	if !ok || !c.runsOn(m.bed, on) {
		return nil
	}
	for _, v := range variants {
		all = append(all, plannedRun{walkRun{
			Fingerprint: fingerprint(m.bed.Agent.Digest, on.Digest.String(), c), Case: c.name, JDK: on.Name, Version: on.Version,
			Feature: feature, Variant: v,
		}, on})
	}
	return all
}

// fingerprint changes where stored figures are of something else. The first word stands for this part and the judge.
func fingerprint(agent, jdk string, c bugCase) string {
	return strings.Join(slices.Concat([]string{"3", agent, jdk, c.name}, c.program, c.flags), " ")
}

func (m *rediscovery) done(r walkRun) bool {
	for _, e := range m.store.Entries {
		if e.Fingerprint == r.Fingerprint && e.Variant == r.Variant && e.Round == r.Round {
			return true
		}
	}
	return false
}

func (r walkRun) instants() (n uint64) {
	for _, p := range r.Pairs {
		n += p.Count
	}
	return n
}

// longestRun bounds a run. The cases take one to ten seconds.
const longestRun = 30 * time.Second

// run makes one run, and fills in what was measured.
func (m *rediscovery) run(ctx context.Context, r *walkRun, on jdk.Entry) error {
	c := caseNamed(r.Case)
	tested := &misstepv1.Recipe{Profiler: &misstepv1.Profiler{
		Name: recipe.ProfilerJFR, Interval: durationpb.New(time.Millisecond), Options: quietEvents,
	}}
	in := shadow.Input{Check: recipe.JfrShadow, Source: shadow.JFR, Feature: on.Feature}
	taps := "both"
	if r.Variant != jfrVariant {
		tested.Profiler.Name, tested.Profiler.Options = recipe.ProfilerAsync, []string{"cstack=" + r.Variant}
		in = shadow.Input{Check: recipe.ProfilerShadow, Source: shadow.AsyncProfiler, Walker: r.Variant, Feature: on.Feature}
		taps = "prof"
	}
	out, err := os.MkdirTemp(m.bed.Dir, "recording-")
	if err != nil {
		return fmt.Errorf("make the recording's folder: %w", err)
	}
	defer os.RemoveAll(out)
	place := profiler.Place{Out: out, Work: out, Files: out}
	flags, err := started(tested, &place, on)
	if err != nil {
		return err
	}
	spec := trial.Spec{
		JDK: on, Workload: c.name, Repetitions: 1, Flags: append(append([]string{}, c.flags...), flags...),
		// JFR on 17 does not start in a JVM whose java.lang classes are all instrumented.
		Agent: &agent.Options{Seed: uint64(r.Round + 1), Ratio: 1, Exclude: []string{"java.lang.*"}, Tap: taps, TapAsgct: 1},
	}
	if c.program != nil {
		spec.Program = append([]string{"-cp", m.classes}, c.program...)
		spec.Agent.Exclude, spec.Agent.Include = nil, []string{c.program[0] + "*"}
	}
	limited, cancel := context.WithTimeout(ctx, longestRun)
	defer cancel()
	result, err := m.bed.Run(limited, spec, nil)
	if err != nil {
		return err
	}
	defer os.RemoveAll(result.Dir)
	r.Wall = result.Wall.Seconds()
	switch {
	case result.Stopped:
		return fmt.Errorf("stopped after %v", longestRun)
	case result.Failure != "":
		return errors.New(result.Failure)
	}
	return m.judge(ctx, r, in, tested, place, result.Dir)
}

// quietEvents leave JFR its samplers.
var quietEvents = []string{
	"jdk.ObjectAllocationInNewTLAB#enabled=false", "jdk.ObjectAllocationOutsideTLAB#enabled=false",
	"jdk.ObjectAllocationSample#enabled=false", "jdk.Deoptimization#enabled=false", "jdk.ClassDefine#enabled=false",
	"jdk.JavaErrorThrow#enabled=false",
}

// judge reads the recording and counts the pairs.
func (m *rediscovery) judge(ctx context.Context, r *walkRun, in shadow.Input, of *misstepv1.Recipe, place profiler.Place,
	dir string,
) error {
	tap, err := agent.ReadTap(filepath.Join(dir, "agent", agent.FileTap))
	if err != nil {
		return err
	}
	list, err := os.ReadFile(filepath.Join(dir, "agent", agent.FileMethods))
	if err != nil {
		return fmt.Errorf("read the instrumented methods: %w", err)
	}
	in.Tap, in.Methods = &tap, agent.ParseMethods(list)
	p, err := profiler.Of(of)
	if err != nil {
		return err
	}
	files, err := profiler.Recordings(p, place)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return errors.New("the profiler left no recording")
	}
	j := shadow.New(in)
	for _, file := range files {
		if _, _, err := m.reader.Read(ctx, file, recording.Limits{}, j.Visit); err != nil {
			return err
		}
	}
	counted := newPairs(&tap, caseNamed(r.Case), r.Variant)
	j.Instants(counted.add)
	r.Pairs = counted.sorted()
	return nil
}
