package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"misstep/internal/testenv"
)

// TestMain runs this program as a service of a fleet when it is called as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == roleCoordinator || os.Args[1] == roleRunner) {
		if err := role(os.Args[1:]); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[1], err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Simulated runners, two coordinators, their database and the bucket with their blobs fail in turn.
func TestChaosWithABucket(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute; run without -short")
	}
	if !testenv.HasS3() {
		t.Skip("no S3 server; deploy/setup/install.sh test builds one")
	}
	seed, err := seedOf(os.Getenv("MISSTEP_TEST_SEED"), time.Now())
	require.NoError(t, err)
	t.Logf("MISSTEP_TEST_SEED=%d repeats the draws", seed)
	p, err := simulatedPhase(t.TempDir(), seed, true)
	require.NoError(t, err)
	p.disturbed.leastFaults = 16
	o, err := p.run(t.Context(), time.Now().Add(20*time.Second))
	check(t, p, o, err)
	require.GreaterOrEqual(t, o.faults(), 16)
	hit := 0
	for _, n := range o.Requests {
		hit += n
	}
	require.Positive(t, hit, "requests to the object store")
}

// check asserts that a phase lost nothing, and shows its log otherwise.
func check(t *testing.T, p phase, o outcome, err error) {
	t.Helper()
	t.Logf("%+v", o)
	if err != nil || o.Missing+o.Other+o.Repeated+o.GivenUp+o.Different+o.NoEvidence+len(o.Left)+len(o.Panics) > 0 {
		text, _ := os.ReadFile(filepath.Join(p.dir, "disturbed.log"))
		t.Logf("%.20000s", text)
	}
	require.NoError(t, err)
	require.Positive(t, o.Trials)
	require.Zero(t, o.Missing+o.Other+o.Repeated+o.GivenUp+o.Different+o.NoEvidence, o.Notes)
	require.Empty(t, o.Left)
	require.Empty(t, o.Panics)
}
