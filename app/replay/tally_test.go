package replay

import (
	"math/rand/v2"
	"testing"

	"github.com/alecthomas/assert/v2"
	"github.com/stretchr/testify/require"

	"misstep/coordinator/retest"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/sim"
	"misstep/signature"
	"misstep/triage"
)

// A JVM that does not start, for a flag that its build does not know, never makes a finding "fixed".
func TestAJVMThatDoesNotStartIsNoTry(t *testing.T) {
	checks := []*misstepv1.CheckCount{{Check: "gst-asgct"}}
	refused := &misstepv1.Outcome{
		Kind: misstepv1.OutcomeKind_OUTCOME_KIND_APPLICATION_FAILURE, Checks: checks,
		Reason: "exit: Unrecognized VM option 'UseBiasedLocking'",
	}
	crashed := &misstepv1.Outcome{
		Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CRASH, Checks: checks,
		Crash: &misstepv1.Crash{Error: "SIGSEGV (0xb)"},
	}
	finding := &misstepv1.Finding{Signature: &misstepv1.Signature{Kind: signature.KindMismatch, Parts: []string{
		"gst-asgct", "truncated",
		"upcall <clinit>",
	}}}
	seen := Tally{Others: map[string]int{}}
	for range 100 {
		assert.False(t, seen.Count(crashed, Shows(finding)))
		assert.False(t, seen.Count(refused, Shows(finding)))
	}
	assert.Zero(t, seen.Tries)
	require.ErrorContains(t, seen.AllVoid(), "Unrecognized VM option 'UseBiasedLocking'")
	verdict := retest.Judge(retest.Count{Hits: 10, Tries: 10}, retest.Count{Hits: uint64(seen.Hits), Tries: uint64(seen.Tries)},
		0.99)
	assert.Equal(t, retest.Void, verdict.State)

	// A finding that is itself such a crash is hit by it.
	itself, _ := triage.Crash(crashed.GetCrash())
	assert.True(t, seen.Count(crashed, Shows(&misstepv1.Finding{Signature: itself})))
	assert.Equal(t, 1, seen.Tries)
}

// A failure that is the finding is not counted as another outcome besides; one with other words is, and proves nothing.
func TestFailuresAreCounted(t *testing.T) {
	failed := func(message string) *misstepv1.Outcome {
		return &misstepv1.Outcome{
			Kind:               misstepv1.OutcomeKind_OUTCOME_KIND_APPLICATION_FAILURE,
			ApplicationFailure: &misstepv1.ApplicationFailure{Reason: "validation", Message: message, Finding: true},
		}
	}
	itself, _ := triage.Failure(failed("3 is not 4").GetApplicationFailure())
	finding := &misstepv1.Finding{Signature: itself}
	seen := Tally{Others: map[string]int{}}
	assert.True(t, seen.Count(failed("5 is not 7"), Shows(finding)))
	require.Empty(t, seen.Others)
	assert.False(t, seen.Count(failed("it is odd"), Shows(finding)))
	assert.Equal(t, 1, seen.Tries)
	assert.Equal(t, 1, seen.Others["void"])
}

// The seeds of tries are those of a bundle's run.sh.
func TestSeedsOfTries(t *testing.T) {
	recipe := &misstepv1.Recipe{Seed: 42}
	seeds := func(r *misstepv1.Reproducer) (all []uint64) {
		for try := range uint32(3) {
			all = append(all, withSeed(r, recipe, try).GetSeed())
		}
		return all
	}
	measured := &misstepv1.Reliability{Hits: 5, Tries: 10}
	assert.Equal(t, []uint64{43, 44, 45}, seeds(&misstepv1.Reproducer{Reliability: measured}))
	assert.Equal(t, []uint64{42, 42, 42}, seeds(&misstepv1.Reproducer{Reliability: measured, SeedMatters: true}))
	assert.Equal(t, []uint64{42, 42, 42}, seeds(&misstepv1.Reproducer{}), "as it was found")
	assert.Equal(t, uint64(42), recipe.GetSeed())
}

// A bundle whose signature an older triage wrote is shown by what its example is called today; what cannot be told stays a miss.
func TestFindingsOfAnOlderTriage(t *testing.T) {
	outcome := sim.Mismatch("Bug")(&misstepv1.Recipe{}, rand.New(rand.NewPCG(1, 1)))
	hit := triage.Triage(outcome)[0]
	old := &misstepv1.Signature{Kind: "mismatch", Parts: []string{"gst-asgct", "as it was written then"}}
	assert.True(t, Shows(&misstepv1.Finding{Id: "F1", Signature: old, Example: outcome})(hit))
	assert.False(t, Shows(&misstepv1.Finding{Id: "F1", Signature: old})(hit))
	assert.False(t, Shows(&misstepv1.Finding{Id: "F1", Signature: &misstepv1.Signature{Kind: "crash"}, Example: outcome})(hit))
	other := triage.Hit{ID: "F2", Signature: &misstepv1.Signature{Kind: "mismatch", Parts: []string{"other"}}}
	assert.False(t, Shows(&misstepv1.Finding{Id: "F1", Signature: old, Example: outcome})(other))
}

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
	finding := &misstepv1.Finding{
		Id: of("truncated").ID, Signature: of("truncated").Signature,
		Aliases: []string{of("wrong-bci").ID},
	}
	seen := Tally{Others: map[string]int{}}
	for _, kind := range []string{"truncated", "wrong-bci", "duplicate"} {
		seen.Count(outcome(kind), Shows(finding))
	}
	assert.Equal(t, 2, seen.Hits)
	assert.Equal(t, map[string]int{of("duplicate").ID: 1}, seen.Others)
}

// A bundle of before signatures had versions: hits are those of its old words, and of the old ids of what was merged into it.
func TestFindingsOfVersion0(t *testing.T) {
	hit := func(place string) triage.Hit {
		s := &misstepv1.Signature{
			Kind: signature.KindMismatch, Parts: []string{"gst-asgct", "truncated", place},
			Version: signature.Version,
		}
		return triage.Hit{ID: signature.ID(s), Signature: s}
	}
	old := &misstepv1.Signature{Kind: signature.KindMismatch, Parts: []string{"gst-asgct", "truncated", "the bottom frame"}}
	is := Shows(&misstepv1.Finding{Id: "F1", Signature: old, Aliases: []string{"Fa99faa3777de"}})
	assert.True(t, is(hit("bottom frame")))
	assert.True(t, is(hit("upcall loadClass")))
	assert.False(t, is(hit("upcall <clinit>")))
}

// A try with mismatches of another finding is not called one that showed the finding.
func TestATrySaysWhetherItShowedTheFinding(t *testing.T) {
	outcome := sim.Mismatch("Bug")(&misstepv1.Recipe{}, rand.New(rand.NewPCG(1, 1)))
	hit := triage.Triage(outcome)[0]
	seen := Tally{Others: map[string]int{}}
	assert.Equal(t, "no try had shown whether F1 is there", seen.SoFar("F1"))
	is, text := seen.tried(outcome, Shows(&misstepv1.Finding{Id: hit.ID, Signature: hit.Signature}))
	assert.True(t, is)
	assert.Equal(t, "reproduced", text)
	other := &misstepv1.Finding{Id: "F1", Signature: &misstepv1.Signature{Kind: signature.KindMismatch, Parts: []string{"other"}}}
	is, text = seen.tried(outcome, Shows(other))
	assert.False(t, is)
	assert.Equal(t, "not reproduced (mismatches)", text)
	is, text = seen.tried(&misstepv1.Outcome{
		Kind: misstepv1.OutcomeKind_OUTCOME_KIND_VOID, Reason: "gst-asgct compared nothing",
	}, Shows(other))
	assert.False(t, is)
	assert.Equal(t, "void, which proves nothing: gst-asgct compared nothing", text)
	assert.Equal(t, "F1 in 1 of 2 tries (95 % interval 0.09–0.91)", seen.SoFar("F1"))
}
