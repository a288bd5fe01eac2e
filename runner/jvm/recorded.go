package jvm

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"misstep/agent"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	verdicts "misstep/runner/judge"
	"misstep/runner/judge/chunks"
	"misstep/runner/judge/edges"
	"misstep/runner/judge/shadow"
	"misstep/runner/profiler"
	"misstep/runner/recording"
)

// consumer judges one check: it is given all records of the trial's recording, in order. An error of Visit is an infrastructure
// failure.
type consumer interface {
	Visit(r recording.Record) error
	Verdicts() verdicts.Verdicts
}

// consumers make the judges of the checks of recordings, by the check's name. They are made after the JVM has ended.
var consumers = map[string]func(ctx context.Context, t *trial, c *misstepv1.Check) (consumer, error){
	recipe.JfrShadow:      shadowJudge,
	recipe.ProfilerShadow: shadowJudge,
	recipe.Samplers:       samplersJudge,
	recipe.JfrChunks: func(_ context.Context, t *trial, _ *misstepv1.Check) (consumer, error) {
		return chunks.New(t.keeps(), t.recipe.GetProfiler().GetName()), nil
	},
	recipe.EventEdges: edgesJudge,
}

// maxTap bounds what is read of tap.bin, in bytes: more than a million calls.
const maxTap = 256 << 20

// keeps is the number of mismatches of a check that are kept.
func (t *trial) keeps() int { return int(recipe.EffectiveLimits(t.recipe.GetLimits()).GetMismatches()) }

// shadowJudge compares the samples with the tap's shadows.
func shadowJudge(_ context.Context, t *trial, c *misstepv1.Check) (consumer, error) {
	tap, err := t.tap()
	if err != nil {
		return nil, err
	}
	list, err := t.readFile(filepath.Join(dirAgent, agent.FileMethods), agent.MaxMethodsBytes)
	if err != nil {
		return nil, err
	}
	in := shadow.Input{
		Check: c.GetName(), Source: shadow.JFR, Feature: t.feature, Tap: tap, Limit: t.keeps(),
		Methods: agent.ParseMethods(list),
	}
	if c.GetName() == recipe.ProfilerShadow {
		in.Source, in.Walker = shadow.AsyncProfiler, profiler.Walker(t.recipe)
	}
	return shadow.New(in), nil
}

// tap returns what the agent's tap noted. If the JVM ended before the agent had started, that is nothing.
func (t *trial) tap() (*agent.Tap, error) {
	data, err := t.readFile(filepath.Join(dirAgent, agent.FileTap), maxTap)
	if err != nil || data == nil {
		return &agent.Tap{}, err
	}
	tap, err := agent.ParseTap(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", agent.FileTap, err)
	}
	return &tap, nil
}

// edgesJudge judges all stack traces by the code of the classes as they ran.
func edgesJudge(_ context.Context, t *trial, _ *misstepv1.Check) (consumer, error) {
	data, err := t.readFile(filepath.Join(dirAgent, agent.FileSites), agent.MaxSitesBytes)
	if err != nil {
		return nil, err
	}
	var sites agent.Sites
	if data != nil { // else the JVM ended before the agent had started: no method is known
		if sites, err = agent.ParseSites(data); err != nil {
			return nil, fmt.Errorf("%s: %w", agent.FileSites, err)
		}
	}
	in := edges.Input{
		Program: edges.NewProgram(sites), Profiler: t.recipe.GetProfiler().GetName(), Feature: t.feature, Limit: t.keeps(),
	}
	if in.Profiler == recipe.ProfilerAsync {
		in.Walker = profiler.Walker(t.recipe)
	}
	if recipe.NeedsTap(t.recipe.GetChecks()) {
		if in.Tap, err = t.tap(); err != nil {
			return nil, err
		}
	}
	return edges.New(in), nil
}

// recordedJudge gives the verdicts of the checks of recordings. One reading serves all: the helper that reads has its own limits of
// time and memory, and runs as the JVM's user, who may have written anything.
type recordedJudge struct{ *trial }

func (recordedJudge) judges(check string) bool { return consumers[check] != nil }

func (j recordedJudge) judge(ctx context.Context, _ string, checks []*misstepv1.Check) (judgement, error) {
	began := time.Now()
	defer func() { j.judging = time.Since(began) }()
	out := judgement{counts: map[string]*misstepv1.CheckCount{}}
	path, err := j.recording()
	if errors.Is(err, errNoRecording) {
		for _, c := range checks {
			out.counts[c.GetName()] = voided(&misstepv1.CheckCount{Check: c.GetName()}, recipe.NoRecording, 1)
		}
		return out, nil
	}
	if err != nil {
		return judgement{}, err
	}
	list := make([]consumer, len(checks))
	for i, c := range checks {
		if list[i], err = consumers[c.GetName()](ctx, j.trial, c); err != nil {
			return judgement{}, fmt.Errorf("%s: %w", c.GetName(), err)
		}
	}
	read, err := j.feed(ctx, path, list)
	if err != nil {
		return judgement{}, err
	}
	for i, c := range checks {
		v := list[i].Verdicts()
		if s, says := list[i].(fmt.Stringer); says {
			j.executor.Logger.DebugContext(ctx, "verdicts of a check", "scratch", j.name, "check", c.GetName(), "judged", s)
		}
		count := v.Count
		if count == nil {
			count = &misstepv1.CheckCount{Check: c.GetName()}
		}
		for reason, n := range read.void(c.GetName()) {
			voided(count, reason, n)
		}
		out.counts[c.GetName()] = count
		out.mismatches = append(out.mismatches, v.Mismatches...)
	}
	return out, nil
}

// voided adds observations that could not be judged.
func voided(count *misstepv1.CheckCount, reason string, n uint64) *misstepv1.CheckCount {
	if count.Void == nil {
		count.Void = map[string]uint64{}
	}
	count.Void[reason] += n
	count.Total += n
	return count
}

// feed reads the recording once for all consumers.
func (j recordedJudge) feed(ctx context.Context, path string, list []consumer) (reading, error) {
	helper := j.executor.Recording
	helper.Box = j.box
	read, began := reading{list: list}, time.Now()
	summary, usage, err := helper.Read(ctx, path, recording.Limits{}, read.visit)
	j.executor.Logger.DebugContext(ctx, "recording read", "scratch", j.name, "took", time.Since(began), "cpu", usage.CPU,
		"rss", usage.MaxRSS, "chunks", read.chunks, "events", summary.Events, "error", err)
	if ctx.Err() != nil {
		return read, ctx.Err()
	}
	return read, read.finish(summary, err)
}
