package retest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	judge "misstep/coordinator/retest"
	misstepv1 "misstep/proto/misstep/v1"
)

// Retests of bundles with ids of old, and of merged findings, are about the findings that these are now.
func TestTogether(t *testing.T) {
	dir := t.TempDir()
	keep := func(finding string, now judge.Count, state judge.State, failed string) {
		require.NoError(t, Keep(dir, Result{
			Finding: finding, JDK: "new", Digest: "sha256:2", KnownOn: "old", KnownDigest: "sha256:1", Known: judge.Count{Hits: 9, Tries: 10},
			Now: now, Verdict: judge.Verdict{State: state}, Error: failed,
		}))
	}
	gone := judge.Count{Tries: 10}
	crash, hang := &misstepv1.Signature{Kind: "crash"}, &misstepv1.Signature{Kind: "hang"}
	a := &misstepv1.Finding{Id: "A", Signature: crash}
	all := []*misstepv1.Finding{
		a,
		{Id: "B", Signature: crash, Aliases: []string{"C"}},
		{Id: "H", Signature: hang},
		{Id: "S", Signature: crash, Assorted: "no frame"},
		{Id: "E", Signature: crash},
	}
	none, err := Together(dir, a, all)
	require.NoError(t, err)
	assert.Empty(t, none)
	for _, id := range []string{"A", "C", "H", "S"} {
		keep(id, gone, judge.Fixed, "")
	}
	keep("E", judge.Count{}, judge.Void, "no such build")
	got, err := Together(dir, a, all)
	require.NoError(t, err)
	require.Len(t, got, 1)
	assert.Equal(t, "B", got[0].GetId())
	assert.Contains(t, got[0].GetEvidence(), "on old 9 of 10 and 9 of 10 tries, on new 0 of 10 and 0 of 10")
}
