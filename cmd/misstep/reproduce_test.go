package main

import (
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/coordinator/triage"
	"misstep/corpus/memory"
	"misstep/deploy/jdk"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/sim"
)

// A try that shows what was merged into the finding is a hit, as it is for the coordinator.
func TestMergedFindingIsShownByEither(t *testing.T) {
	outcome := func(kind string) *misstepv1.Outcome {
		o := sim.Mismatch("Bug")(&misstepv1.Recipe{}, rand.New(rand.NewPCG(1, 1)))
		o.Mismatches[0].Kind = kind
		return o
	}
	of := func(kind string) triage.Hit {
		hits := triage.Triage(outcome(kind))
		require.Len(t, hits, 1)
		return hits[0]
	}
	finding := &misstepv1.Finding{Id: of("truncated").ID, Signature: of("truncated").Signature, Aliases: []string{of("wrong-bci").ID}}
	seen := replayResult{Others: map[string]int{}}
	for _, kind := range []string{"truncated", "wrong-bci", "duplicate"} {
		seen.count(outcome(kind), asShown(finding, outcome(kind)))
	}
	assert.Equal(t, 2, seen.Hits)
	assert.Equal(t, map[string]int{of("duplicate").ID: 1}, seen.Others)
}

// A bundle is tried on the very build of its reproducer: from the catalogue, else from the coordinator's corpus, never on what JAVA_HOME names.
func TestBundleIsTriedOnItsOwnBuild(t *testing.T) {
	catalogue := jdk.Open(testenv.Home(t))
	entry, err := catalogue.Get("jdk17")
	require.NoError(t, err)
	t.Setenv("JAVA_HOME", entry.Path)
	at := func(home string) *env { return &env{cli: &cli{Home: home}, stderr: io.Discard} }
	own := &misstepv1.Jdk{Name: "jdk17", Digest: entry.Digest, Version: entry.Version}

	home, err := at(testenv.Home(t)).sameBuild(t.Context(), memory.New(), own)
	require.NoError(t, err)
	assert.Empty(t, home, "the catalogue has it")

	_, err = at(t.TempDir()).sameBuild(t.Context(), memory.New(), own)
	require.ErrorContains(t, err, entry.Digest)
	require.ErrorContains(t, err, "jdk17")
	require.ErrorContains(t, err, "--clean-tries 0")
}
