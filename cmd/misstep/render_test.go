package main

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/compared"
	"misstep/bundle"
	misstepv1 "misstep/proto/misstep/v1"
)

func TestFindingsKnownInPart(t *testing.T) {
	t.Setenv("COLUMNS", "120")
	var b bytes.Buffer
	renderFindings(&b, []*misstepv1.Finding{
		{Id: "F1", KnownOn: []*misstepv1.KnownOn{
			{Jdk: &misstepv1.Jdk{Name: "jdk8"}, KnownAs: "JDK-8302320"},
			{Jdk: &misstepv1.Jdk{Name: "jdk25"}},
		}},
		{Id: "F2", KnownOn: []*misstepv1.KnownOn{{Jdk: &misstepv1.Jdk{Name: "jdk25"}}}},
	}, nil, "")
	assert.Contains(t, b.String(), "F1       JDK-8302320 in part  0     -     jdk8 jdk25  ")
	assert.Contains(t, b.String(), "F2       -                    0     -     jdk25 ")
}

// The first line counts all mismatches, not those of the first kind, and says which are known.
func TestOutcomeCountsAllMismatches(t *testing.T) {
	o := &misstepv1.Outcome{
		Kind: misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES, Reason: "gst-asgct: truncated, 5 times", SignaturesLeftOut: 1,
		Mismatches: []*misstepv1.Mismatch{
			{Check: "gst-asgct", Kind: "truncated", Count: 5}, {Check: "gst-asgct", Kind: "wrong-bci", Count: 2}, {
				Check: "edges",
				Kind:  "impossible",
			},
		},
	}
	known := func(m *misstepv1.Mismatch) string {
		return map[string]string{"truncated": "JDK-8303444"}[m.GetKind()]
	}
	var b bytes.Buffer
	renderOutcome(&b, nil, o, known)
	assert.Contains(t, b.String(), "outcome: mismatches (8 of 4 kinds, 1 of the kinds known as JDK-8303444)\n")
	assert.Equal(t, 1, strings.Count(b.String(), "\nknown as JDK-8303444\n"))
	assert.Equal(t, "8 of 4 kinds", mismatchSummary(o, nil))
	assert.Equal(t, "8 of 4 kinds, none known", mismatchSummary(o, func(*misstepv1.Mismatch) string { return "" }))
	o.Mismatches, o.SignaturesLeftOut = o.GetMismatches()[:1], 0
	assert.Equal(t, "5 of one kind, known as JDK-8303444", mismatchSummary(o, known))
}

// That the workload failed is told in the second line, not below the stacks of its mismatches.
func TestOutcomeTellsAFailureBesideMismatches(t *testing.T) {
	o := &misstepv1.Outcome{
		Kind:               misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES,
		Mismatches:         []*misstepv1.Mismatch{{Check: "gst-asgct", Kind: "truncated", Count: 5}},
		ApplicationFailure: &misstepv1.ApplicationFailure{Reason: "wall", Message: "not done after 4m0s"},
	}
	var b bytes.Buffer
	renderOutcome(&b, nil, o, nil)
	assert.Contains(t, b.String(), "outcome: mismatches (5 of one kind)\nthe workload failed (wall): not done after 4m0s\nwall 0s,")
}

// A clean outcome in which nothing was checked says so.
func TestOutcomeWithoutChecksSaysSo(t *testing.T) {
	const nothing = "nothing was checked"
	o := &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN}
	var b bytes.Buffer
	renderOutcome(&b, nil, o, nil)
	assert.Contains(t, b.String(), nothing)
	b.Reset()
	o.Checks = []*misstepv1.CheckCount{{Check: "liveness", Total: 1, Match: 1}}
	renderOutcome(&b, nil, o, nil)
	assert.NotContains(t, b.String(), nothing)
}

// A fault of a recording has no stacks, but a place and figures.
func TestFaultOfARecording(t *testing.T) {
	var b bytes.Buffer
	renderMismatch(&b, &misstepv1.Mismatch{
		Check: "jfr-chunks", Kind: "undefined-constant", Count: 3, RecordingFault: &misstepv1.RecordingFault{
			Type: "java.lang.Thread", Referrer: "jdk.ThreadEnd", Field: "thread", Id: 7, Chunk: 2, Position: 99, Detail: "1 of the 63 ids",
		},
	})
	assert.Equal(t, "jfr-chunks: undefined-constant (3 times)\n  java.lang.Thread of jdk.ThreadEnd.thread\n  1 of the 63 ids\n"+
		"  first in chunk 2, byte 99, id 7\n", b.String())
}

// JFR has several samplers, and async-profiler several walkers.
func TestSuspectNamesItsSampler(t *testing.T) {
	var b bytes.Buffer
	renderMismatch(&b, &misstepv1.Mismatch{
		Check: "jfr-shadow", Kind: "missing", Reference: &misstepv1.Trace{Source: "shadow"},
		Suspect: &misstepv1.Trace{Source: "jfr", Sampler: "jdk.CPUTimeSample", NumFrames: 4},
	})
	assert.Contains(t, b.String(), "shadow (0 frames)  jfr jdk.CPUTimeSample (4)")
}

// Traces fit into the terminal: names lose their beginning, on the longer side first.
func TestTracesFitIntoTheTerminal(t *testing.T) {
	t.Setenv("COLUMNS", "60")
	trace := func(source, class string, bci int32) *misstepv1.Trace {
		return &misstepv1.Trace{Source: source, Frames: []*misstepv1.Frame{{ClassName: class, Method: "m", Bci: bci}}, NumFrames: 1}
	}
	long := strings.Repeat("package.", 10)
	var b bytes.Buffer
	renderMismatch(&b, &misstepv1.Mismatch{Reference: trace("shadow", "A", 0), Suspect: trace("jfr", long+"B", 7)})
	assert.Contains(t, b.String(),
		"\n    shadow (1 frames)  jfr (1)\n=>  A.m                -\n"+
			">   -                  …ckage.package.package.package.B.m @7\n")
	b.Reset()
	renderMismatch(&b, &misstepv1.Mismatch{Reference: trace("gst", long+"é", 2), Suspect: trace("asgct", long+"B", 7)})
	assert.Contains(t, b.String(), "\n=>  …age.package.package.é.m @2  -\n"+
		">   -                            …age.package.package.B.m @7\n")
	for line := range strings.Lines(b.String()) {
		assert.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\n"))), 60)
	}
}

func TestStderrOfAFailedWorkload(t *testing.T) {
	var b bytes.Buffer
	renderStderr(&b, "")
	assert.Empty(t, b.String())
	renderStderr(&b, "no such configuration: \x1b[2Jfast\nusage\n")
	assert.Equal(t, "\nthe workload's stderr ends with:\n  no such configuration: ?[2Jfast\n  usage\n", b.String())
}

// A clean outcome of which hardly anything was compared is not called clean without that.
func TestCleanOnlyInWhatWasCompared(t *testing.T) {
	r := &misstepv1.Recipe{
		Jdk: &misstepv1.Jdk{Name: "jdk28"}, Profiler: &misstepv1.Profiler{Name: "async-profiler", Options: []string{"cstack=vmx"}},
	}
	o := &misstepv1.Outcome{
		Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN, Checks: []*misstepv1.CheckCount{
			{Check: "profiler-shadow", Total: 8841, Match: 22, Unwalkable: map[int32]uint64{-1: 8819}},
		},
	}
	var b bytes.Buffer
	renderOutcome(&b, r, o, nil)
	assert.True(t, strings.HasPrefix(b.String(), "outcome: clean in what was compared, of the rest nothing is known\n"), b.String())
	assert.Contains(t, b.String(), "async-profiler,cstack=vmx on jdk28 hardly gave anything to compare")
	assert.Contains(t, b.String(), "at most 15 % of what is compared is wrong")
	b.Reset()
	o.Checks[0].Match, o.Checks[0].Unwalkable = 8841, nil
	renderOutcome(&b, r, o, nil)
	assert.True(t, strings.HasPrefix(b.String(), "outcome: clean\n"), b.String())
	assert.Contains(t, b.String(), "at most 0.042 % of what is compared is wrong")
	t.Setenv("COLUMNS", "80")
	b.Reset()
	renderCompared(&b, compared.OfOutcome("jdk28", r.GetProfiler(), o))
	for line := range strings.Lines(b.String()) {
		assert.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\n"))), 80)
	}
}

// Stacks are aligned by method, whichever end one of them lacks, and the arrow never points at an equal pair.
func TestStacksAreAlignedByMethod(t *testing.T) {
	trace := func(source string, methods ...string) *misstepv1.Trace {
		x := &misstepv1.Trace{Source: source, NumFrames: int32(len(methods))}
		for _, name := range methods {
			x.Frames = append(x.Frames, &misstepv1.Frame{ClassName: "C", Method: name, Bci: 1})
		}
		return x
	}
	for _, c := range []struct {
		kind, reference, suspect, want string
	}{
		{"missing", "a b c d", "a c d", "|C.a|C.a =>|C.b|- |C.c|C.c |C.d|C.d"},
		{"extra", "b c", "a b x c", "=>|-|C.a |C.b|C.b >|-|C.x |C.c|C.c"},
		{"missing", "a b", "x a", ">|-|C.x |C.a|C.a =>|C.b|-"},
		{"truncated", "a b c", "a", "|C.a|C.a =>|C.b|- <|C.c|-"},
		{"wrong-bci", "a b", "a b", "|C.a|C.a |C.b|C.b"},
	} {
		m := &misstepv1.Mismatch{
			Kind: c.kind, Divergence: 1,
			Reference: trace("shadow", strings.Fields(c.reference)...), Suspect: trace("shadow", strings.Fields(c.suspect)...),
		}
		var rows []string
		for _, row := range besides(m)[1:] {
			rows = append(rows, strings.Join(row[:], "|"))
		}
		assert.Equal(t, c.want, strings.Join(rows, " "), c.kind)
	}
	m := &misstepv1.Mismatch{Reference: trace("gst", "a", "b"), Suspect: trace("asgct", "a", "b")}
	m.Suspect.Frames[1].Bci = 7
	assert.Equal(t, [][3]string{{"", "C.a @1", "C.a @1"}, {"=>", "C.b @1", "C.b @7"}}, besides(m)[1:], "another place")
	deep := &misstepv1.Mismatch{Reference: trace("gst", "a"), Suspect: trace("asgct", "a")}
	deep.Suspect.LeftOut = []*misstepv1.FramesLeftOut{{Before: 1, Frames: 40}}
	assert.Equal(t, [3]string{"=>", "-", "… 40 frames omitted …"}, besides(deep)[2], "a gap is at no place")
}

// The stacks of two bundles fit into the terminal, side by side: names lose their beginning.
func TestStacksOfTwoBundlesFitIntoTheTerminal(t *testing.T) {
	trace := func(last string) *misstepv1.Trace {
		long := "org.example." + strings.Repeat("deeper.", 12) + "Long"
		frames := []*misstepv1.Frame{{ClassName: long, Method: "same"}, {ClassName: long, Method: last}}
		return &misstepv1.Trace{Source: "asgct", Frames: frames}
	}
	d := bundle.Difference{Stacks: []bundle.StackChange{{Side: "asgct", A: trace("first"), B: trace("second")}}}
	for _, width := range []int{60, 80, 132} {
		t.Setenv("COLUMNS", strconv.Itoa(width))
		var b strings.Builder
		require.NoError(t, renderDifference(&env{stdout: &b}, d))
		for line := range strings.Lines(b.String()) {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), width, line)
		}
		for _, want := range []string{"AsyncGetCallTrace, 2 frames", ".Long.first @0", ".Long.second @0", ".Long.same @0"} {
			assert.Contains(t, b.String(), want, width)
		}
	}
}
