package triage

import (
	"misstep/signature"
	"misstep/triage/stage"
)

// cutByTop is for a bracket's walk that ends early because of where the signal hit.
var cutByTop = []rule{{
	name:  "cut-by-top",
	doc:   "The walk ends near the top, or went wrong above its last frame, or the signal's place explains it.",
	kinds: []string{truncated},
	when:  func(f *Facts) bool { return f.NearTop || f.Unfinished && f.Astray || f.TopExplains },
	then:  inReference,
}}

// leftAtTop is for a bracket's walk that leaves the reference because of where the signal hit.
var leftAtTop = []rule{{
	name:  "left-at-top",
	doc:   "The walk leaves the reference near the top, or no deeper than the signal's place explains.",
	kinds: []string{missing, wrongMethod},
	when:  func(f *Facts) bool { return f.NearTop || f.TopExplains },
	then:  inReference,
}}

// madeUpInSignal are for brackets' walks that have frames which the reference lacks. A bracket's reference is taken later: a walk
// that ends at such a frame was cut off there, wherever the thread is now.
var madeUpInSignal = []rule{
	{
		name: "ends-at-upcall",
		doc: "Nothing agrees, and the walk ends at a method that the VM itself called. An unfinished top frame explains that " +
			"too, but the interpreter's entry of a method hides only the frames next to it.",
		kinds: []string{extra, foreign},
		when: func(f *Facts) bool {
			hidesNext := f.SuspectFrames > 1 && f.State == "interpreted" && f.Stage == stage.Prologue
			return f.Divergence == 0 && f.Upcall != "" && (!f.Unfinished || hidesNext)
		},
		then: func(f *Facts) verdict {
			v := f.upcallVerdict(f.upcallPlace(f.Upcall), "")
			v.kind = truncated
			return v
		},
	},
	{
		name:  "ends-at-linker",
		doc:   "Nothing agrees, and the walk ends at a method handle's linker.",
		kinds: []string{extra, foreign},
		when:  func(f *Facts) bool { return f.Divergence == 0 && f.AtLinker },
		then:  fixedPlace(truncated, signature.MethodHandle, linkerWords),
	},
	{
		name:  "ends-at-exception",
		doc:   "Nothing agrees, and the walk ends at the constructor of an exception that the VM throws.",
		kinds: []string{extra, foreign},
		when:  func(f *Facts) bool { return f.Divergence == 0 && f.ThrownByVM },
		then:  exceptionVerdict(truncated),
	},
	{
		name:  "parts-at-continuation",
		doc:   "The walk leaves the reference where a virtual thread is mounted on its carrier.",
		kinds: []string{extra, foreign},
		when:  func(f *Facts) bool { return f.PartsAtContinuation },
		then:  fixedPlace("", signature.Continuation, "a continuation"),
	},
	{
		name:  "made-up-by-top",
		doc:   "Fabricated frames come from whatever the stack held: where the signal hit is to blame.",
		kinds: []string{extra, foreign},
		when:  always,
		then:  inReference,
	},
}

// indicesInSignal is for a bracket's walk that has the right methods.
var indicesInSignal = []rule{{
	name: "index-by-top",
	doc: "The bytecode index of a frame near the top is wrong: the thread has moved on since, or where the signal hit is to " +
		"blame.",
	kinds: []string{wrongIndex},
	when:  func(f *Facts) bool { return f.NearTop && !f.Unfinished },
	then:  func(f *Facts) verdict { return f.topVerdict(" in " + f.reference.fromBottom(f.Divergence).name()) },
}}

// sampleCuts are for sampled walks that end early, or begin wrong below a stub. Their reference holds only instrumented methods, so
// bugs are distinguished by the last frame of the walk, and by where the signal hit.
var sampleCuts = []rule{
	{
		name:  "cut-in-virtual-thread",
		doc:   "The walk continues into the carrier before it has the virtual thread's bottom, which is frozen in the heap.",
		kinds: []string{truncated, missing},
		when:  func(f *Facts) bool { return f.OpenSeam },
		then:  fixedPlace("", signature.Continuation, virtualThreadWords),
	},
	{
		name: "cut-at-upcall",
		doc: "The VM itself called the last method. A walk of one frame, from where that is not set up, may have met the " +
			"entry frame by chance.",
		kinds: []string{truncated},
		when:  func(f *Facts) bool { return f.Upcall != "" && (f.SuspectFrames > 1 || !f.Unfinished) },
		then:  func(f *Facts) verdict { return f.upcallVerdict(f.upcallPlace(f.Upcall), " (here "+f.Bottom+")") },
	},
	{
		name:  "cut-below-upcall",
		doc:   "The walk crossed the VM's entry frame and lost its way in the compiled frame below.",
		kinds: []string{truncated},
		when:  func(f *Facts) bool { return f.UpcallAbove != "" },
		then: func(f *Facts) verdict {
			place := signature.Place{Kind: signature.BelowUpcall, Method: f.UpcallAbove}
			return f.verdict("", place, "the caller of "+f.Bottom+", from which the VM called "+f.UpcallAbove)
		},
	},
	cutAtLinker,
	{
		name:  "cut-at-exception",
		doc:   "The walk ends at the constructor of a throwable, which the VM may have called.",
		kinds: []string{truncated},
		when:  func(f *Facts) bool { return f.ConstructsThrowable },
		then:  exceptionVerdict(""),
	},
	{
		name: "below-stub",
		doc: "The walker shows a stub above its first Java frame, and goes wrong at once below it: it has not found the stub's " +
			"caller.",
		when: func(f *Facts) bool { return f.Stub != "" && f.Right < deepEnough },
		then: func(f *Facts) verdict {
			return f.verdict("", signature.Place{Kind: signature.BelowMethod, Method: f.Stub}, "the caller of the stub "+f.Stub)
		},
	},
	{
		name: "native-alone",
		doc: "The walker shows C functions only, and no stub from which they were called: it lost its way before the first frame " +
			"of Java.",
		kinds: []string{truncated},
		when: func(f *Facts) bool {
			return f.Sampler != "" && f.State == "native" && f.SuspectFrames == 0 && f.Stub == ""
		},
		then: fixedPlace("", signature.WholeStack, "the whole stack, in C code"),
	},
	{
		name: "lost-at-entry",
		doc: "The walker has the method that the interpreter was about to run, at index 0, and an address of nothing below it: " +
			"the frame was being set up, and what was on top of the stack was no return address.",
		kinds: []string{truncated},
		when: func(f *Facts) bool {
			return f.Lost && f.State == "interpreted" && f.SuspectFrames == 1 && f.suspect[0].GetBci() == 0
		},
		then: func(f *Facts) verdict {
			place := signature.Place{Kind: signature.TopFrame, State: f.State, Stage: stage.Prologue}
			return f.verdict("", place, place.String()+" under "+f.Bottom)
		},
	},
	{
		name:  "cut-below-compiled",
		doc:   "The top frame is of compiled code and whole, so where the signal hit is not to blame.",
		kinds: []string{truncated},
		when:  func(f *Facts) bool { return f.SuspectFrames > 0 && f.State == "compiled" && !f.Unfinished },
		then:  belowBottom,
	},
	{
		name: "cut-below-anchor",
		doc: "Inside a native method the walk starts from the thread's anchor, so where the signal hit is not to blame. " +
			"Compiled code that has no bytecode index at its pc looks like one.",
		kinds: []string{truncated},
		when:  func(f *Facts) bool { return f.Anchored && (f.Single || !f.Unfinished) },
		then:  belowBottom,
	},
	{
		name: "cut-deep",
		doc: "A top frame of interpreted or native code stands for itself only, so a walk that has found two callers has left " +
			"behind whatever state the top was in.",
		kinds: []string{truncated},
		when:  func(f *Facts) bool { return f.Single && !f.Misled && f.SuspectFrames > deepEnough },
		then: func(f *Facts) verdict {
			return f.verdict("", signature.Place{Kind: signature.BelowMethod, Method: f.Bottom}, "")
		},
	},
}

// sampleRules are for all other sampled walks.
var sampleRules = []rule{
	codeRule,
	{
		name: "virtual-thread",
		doc:  "The walk ends in the carrier and lacks frames of the virtual thread.",
		when: func(f *Facts) bool { return f.Kind != truncated && f.BottomContinuation && f.Frozen },
		then: fixedPlace("", signature.Continuation, "a continuation"),
	},
	{
		name: "first-difference",
		doc: "A walk that has two callers of an interpreted or native top frame right goes wrong at a method. By which frame " +
			"that was replaced depends on which are instrumented.",
		when: func(f *Facts) bool {
			return f.Kind != truncated && f.Single && !f.Misled && f.Right >= deepEnough && (!f.Unfinished || !f.OnlyTopLost)
		},
		then: func(f *Facts) verdict {
			kind := f.Shape
			if kind == wrongMethod {
				kind = missing
			}
			return f.verdict(kind, f.Departure, "")
		},
	},
	{
		name: "top",
		doc:  "Compiled code and stubs on top may stand for any number of frames: where the signal hit is to blame.",
		when: always,
		then: func(f *Facts) verdict {
			if first := f.suspect.fromTop(0); first != nil {
				return f.topVerdict(" under " + first.name())
			}
			return f.topVerdict("")
		},
	},
}

// executionSample is the event of JFR's sampler that walks, up to JDK 24, from where a signal hit.
const executionSample = "jdk.ExecutionSample"

// edgeRules are for calls that the bytecode cannot make. In a sampled walk the frames above the caller come from wherever the
// walker read, so bugs are distinguished by where the signal hit; a recording does not say where, so that all of a sampler are one
// unless the agent's tap has noted it.
// A walk at a safepoint has no such place, so the edge itself is named.
var edgeRules = []rule{
	{
		name: "edge-at-deoptimised-caller",
		doc: "The caller was deoptimised while it was calling: in place of the return address is its deoptimisation entry, for " +
			"which its code has no bytecode index of a call. Where the signal hit is not to blame.",
		when: func(f *Facts) bool { return f.DeoptimisedCaller != "" },
		then: func(f *Facts) verdict {
			words := f.DeoptimisedCaller + ", deoptimised while it was calling " + f.callee.name()
			return f.verdict("", signature.Place{Kind: signature.DeoptimisedCaller}, words)
		},
	},
	{
		name: "edge-at-safepoint",
		doc:  "The walk was taken at a safepoint: the edge itself is named.",
		when: func(f *Facts) bool { return !f.FromSignal },
		then: edgeVerdict,
	},
	{
		name: "no-bytecode-index",
		doc: "The caller has HotSpot's InvocationEntryBci in place of a bytecode index, which no call has. On 8 all samples of " +
			"some code that C2 compiled have it for the caller of what is inlined there. JFR has a sample of a thread in C code " +
			"only by the thread's anchor, so that where the signal hit is not to blame.",
		when: func(f *Facts) bool {
			// JfrGetCallTrace::get_topframe (jfrCallTrace.cpp) refuses a pc in no code blob.
			anchored := f.Sampler == executionSample && f.State == "native"
			return f.CallerWithoutIndex && (anchored || !f.Unfinished)
		},
		then: func(f *Facts) verdict {
			words := "a caller without a bytecode index (" + f.callee.name() + " from " + f.caller.name() + ")"
			return f.verdict("", signature.Place{Kind: signature.NoBytecodeIndex}, words)
		},
	},
	{
		name: "edge-by-top",
		doc: "The frames above the caller come from wherever the walker read: where the signal hit is to blame, if it is known. " +
			"Of an event it is where the trial has a check that taps the sampler's signal.",
		when: always,
		then: func(f *Facts) verdict { return f.topVerdict(" (" + f.callee.name() + " from " + f.caller.name() + ")") },
	},
}

// topVerdict blames the instruction that the signal hit; in describes where that is in the example.
func (f *Facts) topVerdict(in string) verdict {
	place := f.topPlace()
	return f.verdict("", place, place.String()+in)
}

// inReference blames the instruction that the signal hit, in the reference's top frame.
func inReference(f *Facts) verdict { return f.topVerdict(" in " + f.reference.fromTop(0).name()) }

// belowBottom blames the caller of the last frame of the walk.
func belowBottom(f *Facts) verdict {
	return f.verdict("", signature.Place{Kind: signature.BelowMethod, Method: f.Bottom}, "the caller of "+f.Bottom)
}
