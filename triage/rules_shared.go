package triage

import (
	"fmt"

	"misstep/signature"
)

// Words for places that more than one family has.
const (
	linkerWords        = "the caller of a method handle's linker"
	virtualThreadWords = "a continuation: frames of the virtual thread are missing"
)

// deoptimised is the first rule wherever a walk is compared: frame::safe_for_sender refuses a sender whose return address is its
// deoptimisation entry (HotSpot: cpu/x86/frame_x86.cpp). The agent has found that address on the stack
// (agent/deoptimised_jvm_test.go); without it the place of a cut does not reveal its cause.
var deoptimised = []rule{{
	name: "deoptimised-caller",
	doc: "The walk ends at a caller that was deoptimised while it was calling. Below an upcall it ends in any case. To a " +
		"bracket's reference, which is of later, such a walk may be foreign.",
	kinds: []string{truncated, foreign},
	when:  func(f *Facts) bool { return f.DeoptimisedCaller != "" && f.Upcall == "" },
	then: func(f *Facts) verdict {
		words := f.DeoptimisedCaller + ", deoptimised while it was calling " + f.suspect.fromBottom(0).name()
		return f.verdict(truncated, signature.Place{Kind: signature.DeoptimisedCaller}, words)
	},
}}

// cuts are for walks that end above the reference's bottom. Everything below the last frame of the walk is missing, so the edge is
// the one below it.
var cuts = []rule{
	{
		name:  "cut-at-upcall",
		doc:   "The VM itself called the last method: the walker fails at the VM's entry frame, whoever ran below.",
		kinds: []string{truncated},
		when:  func(f *Facts) bool { return f.Edge.Kind == signature.Upcall },
		then:  edgeVerdict,
	},
	{
		name:  "cut-at-continuation",
		doc:   "The walk ends where a virtual thread is mounted on its carrier.",
		kinds: []string{truncated},
		when:  func(f *Facts) bool { return f.Edge.Kind == signature.Continuation },
		then:  edgeVerdict,
	},
	{
		name:  "cut-in-virtual-thread",
		doc:   "Frames of the virtual thread itself are missing: they are frozen in the heap.",
		kinds: []string{truncated},
		when:  func(f *Facts) bool { return f.Frozen },
		then:  fixedPlace("", signature.Continuation, virtualThreadWords),
	},
	cutAtLinker,
	{
		name:  "cut-at-exception",
		doc:   "The walk ends at the constructor of an exception that the VM throws: an upcall.",
		kinds: []string{truncated},
		when:  func(f *Facts) bool { return f.ThrownByVM },
		then:  exceptionVerdict(""),
	},
	{
		name:  "bottom-frame-lost",
		doc:   "All but the very last frame is there: whose it is does not matter.",
		kinds: []string{truncated},
		when:  func(f *Facts) bool { return f.BottomLost },
		then:  fixedPlace("", signature.BottomFrame, "the bottom frame"),
	},
}

// cutAtLinker is of both complete and sampled references.
var cutAtLinker = rule{
	name:  "cut-at-linker",
	doc:   "The walk ends at a method handle's linker, which takes its own argument off the caller's stack.",
	kinds: []string{truncated},
	when:  func(f *Facts) bool { return f.AtLinker },
	then:  fixedPlace("", signature.MethodHandle, linkerWords),
}

// lostFrames are for walks that lack frames in the middle.
var lostFrames = []rule{
	{
		name:  "missing-in-virtual-thread",
		doc:   "Frames of the virtual thread itself are missing: they are frozen in the heap.",
		kinds: []string{missing},
		when:  func(f *Facts) bool { return f.Frozen },
		then:  fixedPlace("", signature.Continuation, virtualThreadWords),
	},
	{
		name:  "missing-at-upcall",
		doc:   "Frames are missing above a method that the VM itself called.",
		kinds: []string{missing},
		when:  func(f *Facts) bool { return f.Edge.Kind == signature.Upcall },
		then:  edgeVerdict,
	},
	{
		name:  "missing-at-continuation",
		doc:   "Frames are missing where a virtual thread is mounted on its carrier.",
		kinds: []string{missing},
		when:  func(f *Facts) bool { return f.Edge.Kind == signature.Continuation },
		then:  edgeVerdict,
	},
}

// departures name the place where a walk, from the top down, first leaves the reference, if that is not a method.
var departures = []rule{
	{
		name:  "native-caller",
		doc:   "The stacks are alike from a native method on down that called back into Java: the walker fails above it.",
		kinds: []string{missing, extra, foreign},
		when:  func(f *Facts) bool { return f.NativeCaller },
		then:  func(f *Facts) verdict { return f.departureVerdict("", f.edgePlace(nil, f.caller), "") },
	},
	{
		name:  "whole-stack",
		doc:   "One of the stacks is empty: there is no place.",
		kinds: []string{missing, extra, foreign, wrongMethod},
		when:  func(f *Facts) bool { return f.ReferenceFrames == 0 || f.SuspectFrames == 0 },
		then: func(f *Facts) verdict {
			return f.departureVerdict("", signature.Place{Kind: signature.WholeStack}, "the whole stack")
		},
	},
}

// departureMethods name the method at which a walk, from the top down, first leaves the reference.
var departureMethods = []rule{
	{
		name:  "agent-frames",
		doc:   "The walk goes wrong within the frames that the check itself adds, the same each time.",
		kinds: []string{missing, extra, foreign, wrongMethod},
		when:  func(f *Facts) bool { return f.Right < f.AgentFrames },
		then: func(f *Facts) verdict {
			return f.departureVerdict(f.Shape, signature.Place{Kind: signature.TopFrames}, "the top")
		},
	},
	{
		name:  "first-difference",
		doc:   "The walk goes wrong at one method: all that differs further down is the consequence.",
		kinds: []string{missing, extra, foreign, wrongMethod},
		when:  always,
		then:  func(f *Facts) verdict { return f.departureVerdict(f.Shape, f.Departure, "") },
	},
}

// indices are for walks that have the right methods.
var indices = []rule{{
	name:  "bytecode-index",
	doc:   "The right method at a wrong bytecode index.",
	kinds: []string{wrongIndex},
	when:  always,
	then: func(f *Facts) verdict {
		expected, found := f.reference.fromBottom(f.Divergence), f.suspect.fromBottom(f.Divergence)
		words := fmt.Sprintf("%s (bci %d taken for %d)", expected.name(), expected.raw().GetBci(), found.raw().GetBci())
		return f.verdict("", signature.Place{Kind: signature.AtMethod, Method: expected.name()}, words)
	},
}}

// lastResort applies to everything that entry checks and brackets find.
var lastResort = []rule{
	codeRule,
	{
		name: "edge",
		doc:  "Plain Java calls: both methods are named, for nothing else is known that would tell two bugs apart.",
		when: always,
		then: edgeVerdict,
	},
}

// codeRule is for walks that returned an error code instead of a stack: which code, and where the signal hit. A code that
// AsyncGetCallTrace does not define (HotSpot: share/prims/forte.cpp) is wrong anywhere.
var codeRule = rule{
	name:  "error-code",
	doc:   "The walk answered with an error code in place of a stack.",
	kinds: []string{errorCode},
	when:  always,
	then: func(f *Facts) verdict {
		if f.NumFrames > 0 || f.NumFrames < -10 {
			return f.verdict("", signature.Place{Kind: signature.UndefinedCode}, "an undefined code")
		}
		place := signature.Place{Kind: signature.Code, Number: f.NumFrames}
		if f.FromSignal {
			top := f.topPlace()
			place.State, place.Stage = top.State, top.Stage
		}
		return f.verdict("", place, "")
	},
}

// departureVerdict returns the verdict for a departure. A wrong method is described by the method that the walk has instead.
func (f *Facts) departureVerdict(kind string, place signature.Place, words string) verdict {
	if f.Kind == wrongMethod {
		words = f.reference.fromBottom(f.Divergence).name() + " taken for " + f.suspect.fromBottom(f.Divergence).name()
	}
	return f.verdict(kind, place, words)
}

// edgeVerdict returns the edge where the stacks part, described with the names of the example.
func edgeVerdict(f *Facts) verdict {
	if f.Edge.Kind != signature.Upcall {
		return f.verdict("", f.Edge, "")
	}
	here := ""
	if f.caller != nil {
		here = " (here " + f.callee.name() + " from " + f.caller.name() + ")"
	}
	return f.upcallVerdict(f.Edge, here)
}

// upcallVerdict describes an upcall; here describes the example.
func (f *Facts) upcallVerdict(place signature.Place, here string) verdict {
	words := "the VM's upcall of " + place.Method + here
	if place.Deoptimised {
		words += ", under " + f.DeoptimisedCaller + ", deoptimised while it was calling"
	}
	return f.verdict("", place, words)
}

// exceptionVerdict returns a verdict about an upcall by which the VM constructs an exception.
func exceptionVerdict(kind string) func(*Facts) verdict {
	return func(f *Facts) verdict {
		words := "the VM's construction of an exception (here " + f.Bottom + ")"
		return f.verdict(kind, signature.Place{Kind: signature.ExceptionUpcall}, words)
	}
}
