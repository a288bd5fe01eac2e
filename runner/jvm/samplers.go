package jvm

import (
	"bytes"
	"context"
	"path/filepath"

	"misstep/agent"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/judge/samplers"
)

// maxStacks bounds what is read of stacks.bin, and maxHeld what is read of the program's output, in bytes.
const (
	maxStacks = 256 << 20
	maxHeld   = 64 << 20
)

// samplersJudge compares the samples of the recording with the agent's stack traces, and with the stacks of which the program says
// when they stood still. The JVM's user may have written anything there: what is broken is left out.
func samplersJudge(ctx context.Context, t *trial, _ *misstepv1.Check) (consumer, error) {
	j := samplers.New(samplers.Options{
		AsyncProfiler: t.recipe.GetProfiler().GetName() == recipe.ProfilerAsync, Mismatches: t.keeps(),
	})
	data, err := t.readFile(filepath.Join(dirAgent, agent.FileStacks), maxStacks)
	if err != nil {
		return nil, err
	}
	if data != nil {
		if _, err := agent.ParseStacks(bytes.NewReader(data), j.Round); err != nil {
			t.executor.Logger.WarnContext(ctx, "stack traces are broken", "scratch", t.name, "error", err)
		}
	}
	output, err := t.readFile(fileStdout, maxHeld)
	if err != nil {
		return nil, err
	}
	if err := j.Held(bytes.NewReader(output)); err != nil {
		t.executor.Logger.WarnContext(ctx, "the output does not say which stacks stood", "scratch", t.name, "error", err)
	}
	return j, nil
}
