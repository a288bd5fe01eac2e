package signature

import (
	"fmt"
	"strconv"
	"strings"
)

// PlaceKind is the kind of thing that locates a mismatch.
type PlaceKind int

// Kinds of places, each with its text form. M is the short name of a method, C.m a class and a method.
const (
	PlaceUnspecified  PlaceKind = iota
	Upcall                      // "upcall M": the VM itself called M from below; Deoptimised adds ", deoptimised caller"
	BelowUpcall                 // "below upcall M": the compiled frame under the VM's entry frame
	ExceptionUpcall             // "upcall exception": the VM constructs an exception
	Continuation                // "continuation": frames of a virtual thread in the heap, or the transition to its carrier
	NativeCaller                // "native C.m": a native method that calls back into Java
	MethodHandle                // "method handle": a lambda form that calls by linkToStatic and its like
	DeoptimisedCaller           // "deoptimised caller": a caller whose return address is its deoptimisation entry
	NoBytecodeIndex             // "no bytecode index": a caller without one
	BottomFrame                 // "bottom frame": all but the last frame is there
	WholeStack                  // "whole stack": nothing agrees
	OtherStack                  // "other stack": the answer of another walk
	TopFrames                   // "top frames": the frames that an entry check itself adds
	TopFrame                    // "top: STATE STAGE": the instruction that the signal hit
	Code                        // "code N" or "code N, top: STATE STAGE": an error code in place of a stack
	UndefinedCode               // "undefined code": one that AsyncGetCallTrace does not have
	BelowMethod                 // "below C.m": the caller of the last frame that the walk has
	AfterMethod                 // "after C.m": the walk leaves the reference under C.m
	AtMethod                    // "C.m": the walk leaves the reference at C.m
	Edge                        // "C.m <- D.n": C.m called by D.n
	Recorded                    // "recorded WHAT": what a recording lacks, gives twice or has in the wrong order
)

// Place locates a mismatch: it is the third part of its signature. Its text form identifies findings, so it must not change within
// a Version.
type Place struct {
	Kind PlaceKind
	// Method is the short name of an upcall, the callee of an Edge, WHAT of Recorded, C.m for other kinds; NoMethod if a walk has
	// no frame there.
	Method string
	// Caller of an Edge.
	Caller string
	// State and Stage of TopFrame, and of Code if a signal took the sample: the kind of code that ran, and the stage of its frame.
	State, Stage string
	// Number of Code: AsyncGetCallTrace's num_frames, -10 to 0 (HotSpot: share/prims/forte.cpp).
	Number int
	// Sampler that took a recorded sample, as "jdk.CPUTimeSample" or "vm"; empty for the agent's own walks. Each goes wrong in its
	// own ways, so "by SAMPLER: " stands before the text of any kind.
	Sampler string
	// Deoptimised reports, for Upcall and ExceptionUpcall, that the method from which the VM called was deoptimised.
	Deoptimised bool
}

// NoMethod stands for the method of a missing frame.
const NoMethod = "(none)"

// fixed holds the places without parameters.
var fixed = map[PlaceKind]string{
	ExceptionUpcall: "upcall exception", Continuation: "continuation", MethodHandle: "method handle",
	DeoptimisedCaller: "deoptimised caller", NoBytecodeIndex: "no bytecode index", BottomFrame: "bottom frame",
	WholeStack: "whole stack", OtherStack: "other stack", TopFrames: "top frames", UndefinedCode: "undefined code",
}

// prefixed holds the places that are a word and a method. ParsePlace needs the order: "below upcall " before "below ".
var prefixed = []struct {
	kind   PlaceKind
	prefix string
}{
	{BelowUpcall, "below upcall "},
	{Upcall, "upcall "},
	{NativeCaller, "native "},
	{BelowMethod, "below "},
	{AfterMethod, "after "},
	{Recorded, "recorded "},
}

const (
	deoptimisedSuffix = ", deoptimised caller"
	topPrefix         = "top: "
	codePrefix        = "code "
	edgeSeparator     = " <- "
	samplerPrefix     = "by "
	samplerSeparator  = ": "
)

// String returns the text form, which ParsePlace reads.
func (p Place) String() string {
	if p.Sampler != "" {
		sampler := p.Sampler
		p.Sampler = ""
		return samplerPrefix + sampler + samplerSeparator + p.String()
	}
	if text, ok := fixed[p.Kind]; ok {
		if p.Kind == ExceptionUpcall && p.Deoptimised {
			text += deoptimisedSuffix
		}
		return text
	}
	for _, f := range prefixed {
		if p.Kind == f.kind {
			text := f.prefix + p.Method
			if p.Deoptimised {
				text += deoptimisedSuffix
			}
			return text
		}
	}
	switch p.Kind {
	case TopFrame:
		return topPrefix + p.State + " " + p.Stage
	case Code:
		text := codePrefix + strconv.Itoa(p.Number)
		if p.State != "" {
			text += ", " + topPrefix + p.State + " " + p.Stage
		}
		return text
	case AtMethod:
		return p.Method
	case Edge:
		return p.Method + edgeSeparator + p.Caller
	}
	return ""
}

// ParsePlace reads the text form of a place. It is the inverse of String.
func ParsePlace(text string) (Place, error) {
	if rest, sampled := strings.CutPrefix(text, samplerPrefix); sampled {
		sampler, rest, found := strings.Cut(rest, samplerSeparator)
		if !found || sampler == "" {
			return Place{}, fmt.Errorf("place %q: expected \"by SAMPLER: PLACE\"", text)
		}
		p, err := ParsePlace(rest)
		if err != nil || p.Sampler != "" {
			return Place{}, fmt.Errorf("place %q: expected \"by SAMPLER: PLACE\"", text)
		}
		p.Sampler = sampler
		return p, nil
	}
	for kind, fixedText := range fixed {
		if text == fixedText {
			return Place{Kind: kind}, nil
		}
	}
	if text == fixed[ExceptionUpcall]+deoptimisedSuffix {
		return Place{Kind: ExceptionUpcall, Deoptimised: true}, nil
	}
	for _, f := range prefixed {
		if method, ok := strings.CutPrefix(text, f.prefix); ok {
			p := Place{Kind: f.kind, Method: method}
			if f.kind == Upcall {
				p.Method, p.Deoptimised = strings.CutSuffix(method, deoptimisedSuffix)
			}
			return p, nil
		}
	}
	if top, ok := strings.CutPrefix(text, topPrefix); ok {
		state, stage, found := strings.Cut(top, " ")
		if !found {
			return Place{}, fmt.Errorf("place %q: expected \"top: STATE STAGE\"", text)
		}
		return Place{Kind: TopFrame, State: state, Stage: stage}, nil
	}
	if code, ok := strings.CutPrefix(text, codePrefix); ok {
		number, top, sampled := strings.Cut(code, ", ")
		n, err := strconv.Atoi(number)
		if err != nil || strconv.Itoa(n) != number {
			return Place{}, fmt.Errorf("place %q: expected a number after \"code\"", text)
		}
		p := Place{Kind: Code, Number: n}
		if sampled {
			at, err := ParsePlace(top)
			if err != nil || at.Kind != TopFrame || at.State == "" {
				return Place{}, fmt.Errorf("place %q: expected \"code N, top: STATE STAGE\"", text)
			}
			p.State, p.Stage = at.State, at.Stage
		}
		return p, nil
	}
	if callee, caller, ok := strings.Cut(text, edgeSeparator); ok {
		return Place{Kind: Edge, Method: callee, Caller: caller}, nil
	}
	if text == "" {
		return Place{}, fmt.Errorf("a place is empty")
	}
	return Place{Kind: AtMethod, Method: text}, nil
}
