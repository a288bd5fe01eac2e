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
