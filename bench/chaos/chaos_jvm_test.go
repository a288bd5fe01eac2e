package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"misstep/app/local"
	"misstep/internal/testenv"
)

// Size of the test: long enough for some faults of each part, short enough for every change. Most of the time goes to the JVMs that
// start when a runner does and for the last trials, so there are few runners, and faults are close together.
const (
	shortChaos   = 26 * time.Second
	shortRunners = 2
	shortPause   = 900 * time.Millisecond
	leastFaults  = 6
)

// Runners of real JVMs, two coordinators and their database fail in turn: each trial is recorded once, the findings are those of an
// undisturbed run, and nothing is left.
func TestChaosWithRealJVMs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes most of a minute; run without -short")
	}
	program := filepath.Join(testenv.Root(), "build", "bin", "misstep")
	if _, err := os.Stat(program); err != nil {
		t.Skipf("no binary (%v); run make misstep", err)
	}
	testenv.Catalogued(t, "jdk17")
	i := local.Installation{Home: testenv.Home(t), AgentDir: testenv.Agent(t)}
	seed, err := seedOf(os.Getenv("MISSTEP_TEST_SEED"), time.Now())
	require.NoError(t, err)
	t.Logf("MISSTEP_TEST_SEED=%d repeats the draws", seed)
	p, err := realPhase(t.Context(), t.TempDir(), seed, false, i, program)
	require.NoError(t, err)
	p.disturbed.runners, p.disturbed.meanPause, p.disturbed.leastFaults = shortRunners, shortPause, leastFaults
	p.calm.runners = 1               // for the few trials that there are
	const patience = 5 * time.Minute // on a machine with much other work JVMs start slowly
	p.disturbed.patience, p.calm.patience = patience, patience
	began := time.Now()
	o, err := p.run(t.Context(), time.Now().Add(shortChaos))
	t.Logf("%.0f s", time.Since(began).Seconds())
	check(t, p, o, err)
	require.GreaterOrEqual(t, o.faults(), leastFaults)
	require.Positive(t, o.Findings, "the workload shows JDK-8303444 in every trial")
}
