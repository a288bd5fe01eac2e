package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/agent"
	"misstep/bench/trial"
	"misstep/internal/testenv"
)

// TestShortRuns is a small version of the benchmark: twenty runs, on two JDKs or more.
func TestShortRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("starts twenty JVMs; run without -short")
	}
	testenv.Agent(t)
	t.Setenv("MISSTEP_HOME", testenv.Home(t))
	const runs = 20
	s, err := sweep(t.Context(), testenv.Root(), t.TempDir(), runs)
	require.NoError(t, err)
	require.Equal(t, runs, s.Runs)
	require.Zero(t, s.ours(), "%+v", s.Troubles)
	require.Positive(t, s.Answered)
	require.Positive(t, s.Entries)
	require.NotZero(t, optionsOf(runs - 1).Checks["asgct-gst-bracket"], "the last ones had brackets")
	t.Logf("%d signals, %d answered, %d entry checks; in the walker: %+v", s.Sent, s.Answered, s.Entries, s.Troubles)
	require.NotEmpty(t, s.tables())
}

// TestAttribution: anything that the agent may have caused counts as caused by the agent.
func TestAttribution(t *testing.T) {
	dir := t.TempDir()
	sound := agent.Status{
		Started: true, Ended: true, Sent: 2, Delivered: 2, Answered: 1,
		Checks: []agent.CheckCount{{Name: "asgct-shadow", Total: 2, Match: 2}},
	}
	require.Nil(t, judge(trial.Result{Dir: dir, Status: sound}, false))

	brackets := sound
	brackets.Sent, brackets.Delivered, brackets.Seconds = 6, 6, 1
	brackets.Checks = append(brackets.Checks, agent.CheckCount{
		Name: "asgct-gst-bracket", Total: 3, Match: 1,
		Void: map[string]uint64{"thread-end": 2},
	})
	require.Nil(t, judge(trial.Result{Dir: dir, Status: brackets}, false))

	lost := sound
	lost.Sent = 3
	require.Contains(t, judge(trial.Result{Dir: dir, Status: lost}, false).What, "2 verdicts of 3 signals")
	require.False(t, judge(trial.Result{Dir: dir, Status: sound, Failure: "exit code 1"}, false).Walker)

	require.False(t, judge(trial.Result{Dir: dir, Status: sound}, true).Walker, "a hang that no walk explains")
	stuck := sound
	stuck.HeartbeatNanos = 100e9
	stuck.Threads = []agent.ThreadSlot{{TID: 7, Phase: agent.PhaseWalk, EnterNanos: 1e9}}
	require.True(t, judge(trial.Result{Dir: dir, Status: stuck}, true).Walker)

	text, err := os.ReadFile(filepath.Join(testenv.Root(), "internal", "hserr", "testdata", "jdk17-segv.log"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hs_err_pid1.log"), text, 0o644))
	crashed := judge(trial.Result{Dir: dir, Status: sound}, false)
	require.Contains(t, crashed.What, "crash: SIGSEGV")
	require.False(t, crashed.Walker, "no thread was in a walk")
}
