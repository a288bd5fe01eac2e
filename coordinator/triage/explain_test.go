package triage_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/coordinator/triage"
	misstepv1 "misstep/proto/misstep/v1"
)

func factsOf(t *testing.T, e triage.Explanation) map[string]any {
	t.Helper()
	facts := map[string]any{}
	for _, f := range e.Facts {
		require.NotEmpty(t, f.Name)
		require.NotContains(t, facts, f.Name, "two facts of one name")
		require.Contains(t, []string{"string", "int", "bool"}, typeName(f.Value), f.Name)
		facts[f.Name] = f.Value
	}
	return facts
}

func typeName(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case int:
		return "int"
	case bool:
		return "bool"
	}
	return "another"
}

func TestExplainAMismatch(t *testing.T) {
	o := &misstepv1.Outcome{Mismatches: []*misstepv1.Mismatch{clinit(10), clinit(3)}}
	s, _ := triage.Mismatch(o.GetMismatches()[0])
	e, err := triage.Explain(o, s)
	require.NoError(t, err)
	assert.Equal(t, "entry/cut-at-upcall", e.Rule)
	assert.NotEmpty(t, e.Reason)
	facts := factsOf(t, e)
	assert.Equal(t, "upcall <clinit>", facts["edge where the stacks part"])
	assert.Equal(t, 4, facts["frames of the reference"], "of the smallest example")
	assert.Equal(t, false, facts["taken in a signal handler"])

	_, err = triage.Explain(&misstepv1.Outcome{}, s)
	assert.ErrorContains(t, err, "no mismatch of the outcome has the signature")
}

func TestExplainACrashAndAHang(t *testing.T) {
	o := &misstepv1.Outcome{
		Crash: &misstepv1.Crash{
			Error: "SIGSEGV (0xb)", ProblematicFrame: "V  [libjvm.so+0x1]  frame::sender(RegisterMap*)+0x1", InWalk: true,
		},
		Hang: &misstepv1.Hang{
			Cause: "deadlock", Threads: []*misstepv1.HungThread{{Name: "main", WaitsFor: "a.B", HeldBy: "other"}},
		},
	}
	crash, _ := triage.Crash(o.GetCrash())
	e, err := triage.Explain(o, crash)
	require.NoError(t, err)
	assert.Empty(t, e.Rule)
	facts := factsOf(t, e)
	assert.Equal(t, true, facts["in a stack walk"])
	assert.Equal(t, "SIGSEGV", facts["part 1 of the signature"])

	hang := triage.Hangs(o.GetHang())[0].Signature
	e, err = triage.Explain(o, hang)
	require.NoError(t, err)
	assert.Contains(t, factsOf(t, e)["thread main"], "waits for a.B held by other")

	_, err = triage.Explain(&misstepv1.Outcome{}, crash)
	assert.ErrorContains(t, err, "the outcome has no crash")
}
