package triage_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/triage"
)

// A failure shows a finding only where its recipe asks for it, and the same words are the same finding whatever the round and the
// values were.
func TestFailures(t *testing.T) {
	of := func(message string) *misstepv1.Outcome {
		return &misstepv1.Outcome{
			Kind:               misstepv1.OutcomeKind_OUTCOME_KIND_APPLICATION_FAILURE,
			ApplicationFailure: &misstepv1.ApplicationFailure{Reason: "validation", Message: message, Finding: true},
		}
	}
	one := triage.Triage(of("bug in round 3: the hash of a range was -17 to a thread, and is 214355488"))
	require.Len(t, one, 1)
	assert.Equal(t, []string{"validation", "bug in round NUM: the hash of a range was NUM to a thread, and is NUM"},
		one[0].Signature.GetParts())
	assert.Equal(t, "failure (validation): bug in round 3: the hash of a range was -17 to a thread, and is 214355488", one[0].Title)
	assert.Equal(t, one[0].ID, triage.Triage(of("bug in round 2: the hash of a range was 0 to a thread, and is 7"))[0].ID)
	assert.NotEqual(t, one[0].ID, triage.Triage(of("bug in round 3: java.lang.IllegalStateException"))[0].ID)

	usual := of("1 is not 2")
	usual.ApplicationFailure.Finding = false
	assert.Empty(t, triage.Triage(usual))
	assert.True(t, triage.Void(usual))

	e, err := triage.Explain(of("1 is not 2"), one[0].Signature)
	require.NoError(t, err)
	assert.Equal(t, "failure/message", e.Rule)
	_, err = triage.Explain(&misstepv1.Outcome{}, one[0].Signature)
	require.ErrorContains(t, err, "no failure")

	finding := func(id, message string) *misstepv1.Finding {
		return &misstepv1.Finding{Id: id, Signature: failureSignature("exception", message)}
	}
	near := triage.Nearest(finding("F1", "a.B: no c.D"), []*misstepv1.Finding{
		finding("F2", "a.B: no e.F"), finding("F3", "g.H"), {Id: "F4", Signature: hangSignature("limit", "main at a.Main.main")},
	}, 9)
	require.Len(t, near, 1, "an exception of the same class")
	assert.Equal(t, "F2", near[0].GetId())
}
