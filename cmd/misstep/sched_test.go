package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/schedule"
)

// execute runs a command line in this process.
func execute(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out, err bytes.Buffer
	code = run(ctx, args, &out, &err)
	return code, out.String(), err.String()
}

func sched(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return execute(t, append([]string{"sched"}, args...)...)
}

func TestSchedCommandLine(t *testing.T) {
	code, out, _ := sched(t, "strategies")
	assert.Zero(t, code)
	for _, s := range schedule.Strategies() {
		assert.Contains(t, "\n"+out, "\n"+s.Name+"\n")
	}
	code, out, _ = sched(t, "strategies", "--json")
	assert.Zero(t, code)
	var parsed []struct {
		Name       string
		Parameters []struct{ Name string }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &parsed))
	assert.Len(t, parsed, len(schedule.Strategies()))

	code, out, _ = sched(t, "--help")
	assert.Zero(t, code)
	assert.Contains(t, out, "replay")

	code, _, text := sched(t, "run", "--strategy", "delay", "--param", "probability=2", "--", "true")
	assert.Equal(t, 125, code)
	assert.Contains(t, text, "probability = 2 is not in [0, 1]")

	code, _, text = sched(t, "run", "--strategy", "delay", "--param", "probability=half", "--", "true")
	assert.Equal(t, 125, code)
	assert.Contains(t, text, "--param probability=half: want a number")

	code, _, text = sched(t, "run", "--strategy", "none", "--")
	assert.Equal(t, 125, code)
	assert.NotEmpty(t, text)

	file := filepath.Join(t.TempDir(), "x.log")
	require.NoError(t, os.WriteFile(file, []byte("no log"), 0o644))
	code, _, text = sched(t, "replay", file, "--", "true")
	assert.Equal(t, 125, code)
	assert.Contains(t, text, "not a schedule log")

	var log bytes.Buffer
	writer, err := schedule.NewLogWriter(&log, schedule.Header{
		Perturbation: schedule.Perturbation{Strategy: "delay"},
		Mechanism:    "agent",
	})
	require.NoError(t, err)
	require.NoError(t, writer.Close(0))
	require.NoError(t, os.WriteFile(file, log.Bytes(), 0o644))
	code, _, text = sched(t, "replay", file, "--", "true")
	assert.Equal(t, 125, code)
	assert.Contains(t, text, `decisions of the mechanism "agent"`)
}

func TestContradictoryFlags(t *testing.T) {
	for want, args := range map[string][]string{
		"--max-runs: expected a positive number, together with --repeat-until-failure": {"run", "--max-runs", "3", "--", "true"},
		"--max-runs: want a value at least 1, got -3":                                  {"run", "--repeat-until-failure", "--max-runs=-3", "--", "true"},
		"--timeout: want a value above 0s, got -3s":                                    {"run", "--timeout=-3s", "--", "true"},
	} {
		code, _, stderr := sched(t, args...)
		assert.Equal(t, 125, code)
		assert.Contains(t, stderr, want)
	}
}

func TestSchedExplain(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.log")
	write := func(records ...schedule.Record) []byte {
		var log bytes.Buffer
		w, err := schedule.NewLogWriter(&log, schedule.Header{
			Perturbation: schedule.Perturbation{Strategy: "delay", Seed: 3}, Command: []string{"./program"},
		})
		require.NoError(t, err)
		for _, r := range records {
			w.Add(r)
		}
		require.NoError(t, w.Close(0))
		require.NoError(t, os.WriteFile(file, log.Bytes(), 0o644))
		return log.Bytes()
	}
	whole := write(
		schedule.Record{Kind: schedule.RecordThread, Path: 1, Comm: "main"},
		schedule.Record{Kind: schedule.RecordThread, Path: 2, Delay: 1, Comm: "worker"},
		schedule.Record{Kind: schedule.RecordDecision, Path: 2, Delay: 9000, Slice: 20e6, Marks: schedule.MarkDelayed, Comm: "worker"},
		schedule.Record{Kind: schedule.RecordRun, Path: 1, Elapsed: 1000, Delay: 5000, Event: 1, Comm: "main"},
		schedule.Record{Kind: schedule.RecordRun, Path: 2, Elapsed: 9500, Delay: 500, Event: 4, Rank: 1, Comm: "worker"},
	)
	t.Setenv("COLUMNS", "60")
	page, picture, trace := filepath.Join(dir, "x.html"), filepath.Join(dir, "x.svg"), filepath.Join(dir, "x.json")
	code, out, stderr := sched(t, "explain", file, "--html", page, "--svg", picture, "--perfetto", trace)
	require.Zero(t, code, stderr)
	assert.Contains(t, out, "program: strategy delay, seed 3\n2 threads, 1 decisions in 10µs; times")
	assert.Contains(t, out, "worker 0.0 away for 9.5µs: delayed; meanwhile\n            ran main 0 once")
	for name, part := range map[string]string{page: "<!doctype html>", picture: "<svg ", trace: `"traceEvents"`} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.Contains(t, string(text), part)
	}
	code, out, _ = sched(t, "explain", file, "--json")
	assert.Zero(t, code)
	var parsed struct {
		Mattered []struct{ Reason string }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &parsed))
	require.Len(t, parsed.Mattered, 1)
	assert.Equal(t, "delayed", parsed.Mattered[0].Reason)

	require.NoError(t, os.WriteFile(file, whole[:len(whole)-100], 0o644))
	code, out, _ = sched(t, "explain", file)
	assert.Zero(t, code)
	assert.Contains(t, out, "The log was cut short at offset")
	write()
	code, _, stderr = sched(t, "explain", file)
	assert.Equal(t, exitOwn, code)
	assert.Contains(t, stderr, "the log has no decisions")
	require.NoError(t, os.WriteFile(file, []byte("no log"), 0o644))
	code, _, stderr = sched(t, "explain", file)
	assert.Equal(t, exitOwn, code)
	assert.Contains(t, stderr, "give a file of misstep sched run --log")
}

func TestSchedPlacesWithoutALog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.log")
	require.NoError(t, os.WriteFile(file, []byte("no log"), 0o644))
	for _, args := range [][]string{{"places", file}, {"places", "--count", "0", file}, {
		"replay", "--places", "5", file, "--",
		"true",
	}, {"fly"}} {
		code, _, text := sched(t, args...)
		assert.Equal(t, exitOwn, code, "%v", args)
		assert.NotEmpty(t, text)
	}
}
