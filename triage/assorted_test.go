package triage_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
	"misstep/triage"
)

func crashSignature(err, frame string, walker ...string) *misstepv1.Signature {
	return signature.Proto(signature.Crash{Error: err, Frame: frame, Walker: walker, Thread: "Java", Operation: "none"})
}

func hangSignature(cause string, waiters ...string) *misstepv1.Signature {
	return signature.Proto(signature.Hang{Cause: cause, Waiters: waiters})
}

func failureSignature(reason, message string) *misstepv1.Signature {
	s, _ := triage.Failure(&misstepv1.ApplicationFailure{Reason: reason, Message: message})
	return s
}

// Each kind of bucket, and beside it what is nearly one and yet points at a place.
func TestAssorted(t *testing.T) {
	const guarantee = "Internal Error codeCache.cpp guarantee(is_result_safe || is_in_asgct()) failed: unsafe access"
	for _, c := range []struct {
		s    *misstepv1.Signature
		want string
	}{
		{crashSignature("SIGSEGV", "V libjvm.so"), "symbol"},
		{crashSignature("SIGSEGV", "C libfoo.so"), "symbol"},
		{crashSignature("SIGSEGV", "(unknown)"), "symbol"},
		{crashSignature("SIGSEGV", "C ADDR"), "symbol"},
		{crashSignature("SIGSEGV", "C unknown"), "symbol"},
		{crashSignature("EXCEPTION_ACCESS_VIOLATION", "V jvm.dll"), "symbol"},
		{crashSignature("SIGSEGV", "V libjvm.so", "in walk"), "symbol"},
		{crashSignature("SIGSEGV", "V libjvm.so+0x9c8a5c 17.0.15+6"), ""},
		{crashSignature("SIGSEGV", "V frame::sender"), ""},
		{crashSignature("SIGSEGV", "C libc.so memcpy"), ""},
		{crashSignature("SIGSEGV", "J c2 java.util.HashMap.get"), ""},
		{crashSignature("SIGSEGV", "V libjvm.so", "frame::sender", "AsyncGetCallTrace"), ""},
		{crashSignature(guarantee, "(unknown)"), ""}, // the assertion is the place
		{crashSignature("SIGKILL", "(unknown)"), "killed"},
		{crashSignature("Out of Memory Error arena.cpp", "V Arena::grow"), "memory"},
		{crashSignature("Internal Error debug.cpp fatal error: OutOfMemory encountered: Java heap space", "V report_fatal"), "memory"},
		{hangSignature("limit"), "time limit"},
		{hangSignature("limit", "main at a.Main.main"), ""},
		{hangSignature("starved"), "CPU"},
		{hangSignature("in-agent"), "which thread"},
		{hangSignature("deadlock", "a at b.C.d"), ""},
		{failureSignature("exit-code", "exit code 7, not 0"), "any cause"},
		{failureSignature("exit-code", "exit code 7"), "any cause"},
		{failureSignature("exit-code", "exit code 7: wrong sum"), ""},
		{failureSignature("validation", "1 is not 2"), ""},
		{&misstepv1.Signature{Kind: "mismatch", Parts: []string{"edges", "impossible-edge", "no bytecode index"}}, ""},
		{&misstepv1.Signature{Kind: "crash", Version: 99}, ""},
	} {
		reason, assorted := triage.Assorted(c.s)
		assert.Equal(t, c.want != "", assorted, "%v: %s", c.s, reason)
		assert.Contains(t, reason, c.want, "%v", c.s)
	}
}

// A catalogue whose pattern is too wide does not make one known bug of assorted failures.
func TestAssortedIsNotKnown(t *testing.T) {
	c, err := known.Parse([]byte(`- {id: A, title: t, description: d, versions: ["8.."], matches: [{kind: crash, parts: ["SIG*"]}]}`))
	require.NoError(t, err)
	assert.Empty(t, triage.KnownAs(c, crashSignature("SIGSEGV", "V libjvm.so"), nil))
	assert.Equal(t, []string{"A"}, triage.KnownAs(c, crashSignature("SIGSEGV", "V frame::sender"), nil))
}

func TestAssortedIsLikeNothing(t *testing.T) {
	a := &misstepv1.Finding{Id: "F1", Signature: crashSignature("SIGSEGV", "V libjvm.so")}
	b := &misstepv1.Finding{Id: "F2", Signature: crashSignature("SIGBUS", "V libjvm.so")}
	c := &misstepv1.Finding{Id: "F3", Signature: crashSignature("SIGSEGV", "V frame::sender")}
	assert.Empty(t, triage.Nearest(a, []*misstepv1.Finding{b, c}, 5))
	assert.Empty(t, triage.Nearest(c, []*misstepv1.Finding{a, b}, 5))
}
