package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/agent"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/judge/shadow"
)

// on17 is what a JDK prints with -Xinternalversion.
const on17 = "OpenJDK 64-Bit Server VM (17.0.15+6) for linux-amd64 JRE (17.0.15+6)"

func on8() string { return "OpenJDK 64-Bit Server VM (25.504-b01) for linux-amd64 JRE (1.8.0_504-b01)" }

func frames(names ...string) *misstepv1.Trace {
	t := &misstepv1.Trace{NumFrames: int32(len(names))}
	for _, n := range names {
		t.Frames = append(t.Frames, &misstepv1.Frame{ClassName: "a.B", Method: n, Descriptor_: "()V"})
	}
	return t
}

// cut is a walk that ends at a class initialiser, by the check that judged it.
func cut(check, sampler string) *misstepv1.Mismatch {
	m := &misstepv1.Mismatch{
		Check: check, Kind: "truncated", Divergence: 1, Pc: 1, TopState: "interpreted", Code: []byte{0x90},
		Reference: frames("f", "<clinit>", "main"), Suspect: frames("f", "<clinit>"),
	}
	m.Suspect.Sampler = sampler
	return m
}

// The form is found as for AsyncGetCallTrace, whoever walked; the bug depends on the JDK.
func TestTheFormIsTheSameForAllWalkers(t *testing.T) {
	tap := &agent.Tap{Architecture: "amd64"}
	want := form{Outcome: wrong, Difference: "truncated", Place: "upcall <clinit>"}
	for _, m := range []*misstepv1.Mismatch{
		cut("asgct-shadow", ""), cut("jfr-shadow", cpuTimeSample), cut("profiler-shadow", "vm"),
	} {
		f := formOf(&shadow.Finding{Mismatch: m}, agent.TapCall{}, tap, bugCase{})
		require.Equal(t, want, f)
		require.Equal(t, "JDK-8303444", bugOf(f, bugCase{}, on17))
		require.Empty(t, bugOf(f, bugCase{}, on8()), "the bug is in 9 and later")
	}
	require.Equal(t, "jfr-shadow", checkOf(executionSample))
	require.Equal(t, "profiler-shadow", checkOf("vmx"))
}

// A walk that gave up is of the bug that the interrupted instruction explains, and of none elsewhere.
func TestWhoGivesUpHasAForm(t *testing.T) {
	tap := &agent.Tap{Architecture: "amd64"}
	at := func(state string) form {
		return formOf(&shadow.Finding{Unwalkable: true}, agent.TapCall{TopState: state, Code: []byte{0x90}, PC: 1}, tap, bugCase{})
	}
	inStub := at("stub")
	require.Equal(t, gaveUp, inStub.Outcome)
	require.Equal(t, "JDK-8178287", bugOf(inStub, bugCase{}, on17))
	require.Empty(t, bugOf(at("native"), bugCase{}, on17))
	require.Empty(t, ownBugOf(inStub, "vm", on17))
	void := formOf(&shadow.Finding{Void: "depth"}, agent.TapCall{}, tap, bugCase{})
	require.Equal(t, form{Outcome: unknown}, void)
	require.Equal(t, form{Outcome: right}, formOf(&shadow.Finding{Rule: "push-pop-window"}, agent.TapCall{}, tap, bugCase{}))
	require.Equal(t, form{Outcome: unknown}, formOf(nil, agent.TapCall{}, tap, bugCase{}))
}

// What the moment does not tell the case does, for its form only.
func TestACaseNamesItsOwnForm(t *testing.T) {
	c := caseNamed("deoptimised")
	f := form{Outcome: wrong, Difference: "truncated", Place: "below Deoptimised.inner"}
	require.Equal(t, "MISSTEP-deoptimised-caller", bugOf(f, c, on17))
	require.Empty(t, bugOf(f, bugCase{}, on17))
	f.Place = "below Deoptimised.outer"
	require.Empty(t, bugOf(f, c, on17))
	require.Empty(t, caseNamed("gone").name)
}

func TestCallsAreCountedByForms(t *testing.T) {
	call := func(nanos uint64, signal uint32) agent.TapCall {
		return agent.TapCall{BeginNanos: nanos, Signal: signal}
	}
	tap := &agent.Tap{Signals: [2]uint32{27, 12}, Calls: []agent.TapCall{call(3e9, 27), call(1e9, 12)}}
	p := newPairs(tap, bugCase{}, jfrVariant)
	lost := &shadow.Finding{Mismatch: cut("asgct-shadow", "")}
	for _, nanos := range []uint64{4e9, 2e9, 3e9} {
		p.add(shadow.Instant{Call: call(nanos, 27), Sampler: cpuTimeSample, Walked: lost})
	}
	for _, nanos := range []uint64{1e9, 3.5e9, 5e9} { // before the first sample, between, after the last
		p.add(shadow.Instant{Call: call(nanos, 27), Walked: lost})
	}
	p.add(shadow.Instant{Call: call(6e9, 12), Walked: &shadow.Finding{}})
	upcall := form{Outcome: wrong, Difference: "truncated", Place: "upcall <clinit>"}
	require.Equal(t, []pair{
		{Sampler: cpuTimeSample, Walked: upcall, Sampled: form{Outcome: right}, Count: 3, First: 1},
		{Sampler: cpuTimeSample, Walked: upcall, Sampled: form{Outcome: noTrace}, Count: 1, First: 2.5},
	}, p.sorted())
	require.Equal(t, "vm", newPairs(tap, bugCase{}, "vm").samplerOf(27))
}

// The table keeps apart what a sampler loses at the instants at which AsyncGetCallTrace does, and what it loses at all; what has no
// known form is listed, and never counted for a bug.
func TestTheTableOfBugs(t *testing.T) {
	fine, upcall := form{Outcome: right}, form{Outcome: wrong, Difference: "truncated", Place: "upcall <clinit>"}
	stub := form{Outcome: gaveUp, Difference: "truncated", Place: "top: stub body"}
	odd := form{Outcome: wrong, Difference: "foreign", Place: "top: native body"}
	run := func(variant string, pairs ...pair) walkRun {
		return walkRun{Case: "clinit", JDK: "jdk17", Version: on17, Feature: 17, Variant: variant, Wall: 10, Pairs: pairs}
	}
	table := newWalkTable([]walkRun{
		run("vm", pair{"vm", fine, fine, 90, 0, ""}, pair{"vm", upcall, fine, 7, 2, ""}, pair{"vm", upcall, odd, 2, 3, ""}),
		run("vm", pair{"vm", upcall, upcall, 4, 1.5, ""}, pair{"vm", fine, upcall, 6, 4, ""},
			pair{"vm", upcall, form{Outcome: unknown}, 50, 1, ""}),
		run("no", pair{"no", upcall, upcall, 5, 0, ""}, pair{"no", stub, form{Outcome: noTrace}, 3, 1, ""}),
		{Case: "clinit", JDK: "jdk17", Version: on17, Variant: "fp", Failure: "it crashed"},
	})
	cell := func(bug, sampler string) walkCell {
		for _, c := range table.Cells {
			if c.Bug == bug && c.Sampler == sampler {
				return *c
			}
		}
		t.Fatalf("no cell of %s, %s", bug, sampler)
		return walkCell{}
	}
	vm := cell("JDK-8303444", "vm")
	require.EqualValues(t, 109, vm.Samples)
	require.EqualValues(t, 10, vm.Wrong)
	require.Equal(t, []uint64{13, 7, 4, 2, 0, 0}, []uint64{vm.Lost, vm.Right, vm.Same, vm.Otherwise, vm.GaveUp, vm.NoTrace})
	require.InDelta(t, 11.5, vm.First, 1e-9, "the second run")
	require.InDelta(t, 20, vm.Ran, 1e-9)
	no := cell("JDK-8303444", "no")
	require.True(t, no.Has())
	require.Zero(t, no.First)
	walked := cell("JDK-8303444", asgct)
	require.EqualValues(t, 90+7+2+4+6+50+5, walked.Samples)
	require.EqualValues(t, 7+2+4+50+5, walked.Wrong)
	stubs := cell("JDK-8178287", "no")
	require.False(t, stubs.Has(), "it gave up, which is not a wrong stack")
	require.EqualValues(t, 3, stubs.NoTrace)
	want := unnamed{Sampler: "vm", JDK: "jdk17", Form: odd.text(), Count: 2, Cases: []string{"clinit"}}
	require.Equal(t, []*unnamed{&want}, table.Unnamed)
	require.Len(t, table.Failed, 1)
	require.Equal(t, 3, table.Runs)
	for _, tab := range table.tables() {
		for _, row := range tab.Rows {
			require.Len(t, row, len(tab.Columns), tab.Title)
		}
	}
	require.Equal(t, []string{
		"JDK-8178287", "clinit", "jdk17", "0+3/167", "-", "-", "-", "-", "-", "-", "0+3/3",
	}, table.matrix().Rows[0])
	require.Equal(t, []string{
		"JDK-8303444", "clinit", "jdk17", "68+0/167", "-", "-", "6+0/13", "-", "-", "-", "5+0/5",
	}, table.matrix().Rows[1])
	for _, g := range table.goals() {
		if g.Unit == "%" {
			require.InDelta(t, 100, g.Measured, 1e-9)
		}
	}
}

// Every case's program is there, and a changed flag makes stored figures another case's.
func TestCases(t *testing.T) {
	names := map[string]bool{}
	for _, c := range bugCases {
		require.False(t, names[c.name], c.name)
		names[c.name] = true
		if c.program != nil {
			require.FileExists(t, "../../agent/test/programs/"+c.program[0]+".java")
		} else {
			require.DirExists(t, "../../workloads/"+c.name)
		}
	}
	a := bugCase{name: "x", flags: []string{"-Xint"}}
	require.NotEqual(t, fingerprint("a", "j", bugCase{name: "x"}), fingerprint("a", "j", a))
}
