package triage

import (
	"fmt"
	"slices"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
)

// Mismatch returns the signature of a mismatch and a title.
func Mismatch(m *misstepv1.Mismatch) (*misstepv1.Signature, string) {
	kind, where, what := locate(m)
	where, what = overUpcall(m, where, what)
	return signature(KindMismatch, m.GetCheck(), kind, where),
		clean(fmt.Sprintf("%s: %s %s%s", m.GetCheck(), kindWords(kind), placeWords(what), depthWords(m)))
}

// locate returns the kind, which is the agent's unless a part of the difference tells more, the edge part of the signature, and its
// description for people.
func locate(m *misstepv1.Mismatch) (kind, part, what string) {
	kind = m.GetKind()
	if part, what, ok := deoptimised(m); ok {
		return "truncated", part, what
	}
	switch m.GetCheck() {
	case "asgct-shadow":
		return locateSampled(m)
	case "edges":
		part, what = locateImpossible(m)
		return kind, part, what
	}
	ref, sus := m.GetReference().GetFrames(), m.GetSuspect().GetFrames()
	switch m.GetKind() {
	case "truncated":
		// Everything below the last frame that the walk has is lost: the edge below it is where it stopped.
		j := stop(ref, sus)
		e := edge{at(ref, j), at(ref, j+1)}
		if part, ok := special(e); ok {
			return kind, part, e.what()
		}
		if frozen(ref, sus) {
			return kind, "continuation", "a continuation: frames of the virtual thread are missing"
		}
		if cutAtLinker(m) {
			return kind, linked, linkedWords
		}
		if bottom := fromBottom(sus, 0); thrownByVM(m, bottom) {
			return kind, thrownPart, thrownWords(bottom)
		}
		if bottomLost(ref, sus) {
			return kind, bottomFrame, bottomFrame
		}
		// The right method at a wrong place: the walk had lost its way before.
		astray := unfinished(m) && j >= 0 && wrongLocation(ref[j:j+1], sus[len(sus)-1:]) >= 0
		if asynchronous(m) && (j <= 1 || astray || topToBlame(m, len(sus))) {
			return kind, top(m), top(m) + " in " + name(at(ref, 0))
		}
		return kind, e.String(), e.what()
	case "missing":
		u := diverge(m, ref, sus)
		e := edge{fromBottom(ref, u), fromBottom(ref, u-1)}
		if frozen(ref, sus) {
			return kind, "continuation", "a continuation: frames of the virtual thread are missing"
		}
		if part, ok := special(e); ok {
			return kind, part, e.what()
		}
		if asynchronous(m) && (u >= len(ref)-2 || leftAtTop(m, len(sus)-u)) {
			return kind, top(m), top(m) + " in " + name(at(ref, 0))
		}
		kind, part = departure(kind, ref, sus, e.caller)
		return kind, part, part
	case "extra", "foreign":
		// Fabricated frames come from whatever the dead part of the stack held: their names say nothing. What the reference has
		// there does, unless the signal's own place explains it all.
		u := diverge(m, ref, sus)
		if asynchronous(m) {
			// A bracket's reference is of later: what ends at such a frame was cut off there, wherever the thread is now. The interpreter's entry of a method
			// hides only the frames next to it.
			if e := (edge{callee: fromBottom(sus, 0)}); u == 0 && (!unfinished(m) || len(sus) > 1 && m.GetTopState() == "interpreted" && stage(m) == prologue) && upcall(e.callee) != "" {
				return "truncated", e.String(), e.what()
			}
			if u == 0 && cutAtLinker(m) {
				return "truncated", linked, linkedWords
			}
			if bottom := fromBottom(sus, 0); u == 0 && thrownByVM(m, bottom) {
				return "truncated", thrownPart, thrownWords(bottom)
			}
			if continuation(fromBottom(sus, u)) {
				return kind, "continuation", "a continuation"
			}
			return kind, top(m), top(m) + " in " + name(at(ref, 0))
		}
		kind, part = departure(kind, ref, sus, fromBottom(ref, u-1))
		return kind, part, part
	case "wrong-method":
		u := diverge(m, ref, sus)
		if asynchronous(m) && (u >= len(ref)-2 || leftAtTop(m, len(sus)-u)) {
			return kind, top(m), top(m) + " in " + name(at(ref, 0))
		}
		what = name(fromBottom(ref, u)) + " taken for " + name(fromBottom(sus, u))
		kind, part = departure(kind, ref, sus, nil)
		return kind, part, what
	case "wrong-bci":
		u := diverge(m, ref, sus)
		f := fromBottom(ref, u)
		if asynchronous(m) && u >= len(ref)-2 && !unfinished(m) {
			return kind, top(m), top(m) + " in " + name(f)
		}
		return kind, name(f), fmt.Sprintf("%s (bci %d taken for %d)", name(f), f.GetBci(), fromBottom(sus, u).GetBci())
	case "code":
		return kind, code(m), code(m)
	default:
		u := diverge(m, ref, sus)
		e := edge{fromBottom(ref, u), fromBottom(ref, u-1)}
		return kind, e.String(), e.what()
	}
}

// bottomFrame is the part for a walk that has all but the last frame: whose it is does not matter.
const bottomFrame = "the bottom frame"

// locateSampled locates a mismatch of asgct-shadow. Its reference holds only instrumented methods, so neighbours in it are no edges:
// what tells bugs apart is the last frame that a cut walk has, and where the signal hit.
func locateSampled(m *misstepv1.Mismatch) (kind, part, what string) {
	kind = m.GetKind()
	sus := m.GetSuspect().GetFrames()
	bottom, here := fromBottom(sus, 0), top(m)
	if m.GetKind() == "code" {
		return kind, code(m), code(m)
	}
	inFrame := !unfinished(m)
	if m.GetKind() == "truncated" && bottom != nil {
		// A walk of one frame, from where that is not set up, may have met the entry frame by chance.
		if e := (edge{callee: bottom}); upcall(bottom) != "" && (len(sus) > 1 || inFrame) {
			return kind, e.String(), e.what() + " (here " + name(bottom) + ")"
		}
		if u := upcall(fromBottom(sus, 1)); u != "" { // it crossed the entry frame and lost its way in the compiled frame below
			return kind, "beyond upcall " + u, "the caller of " + name(bottom) + ", from which the VM called " + u
		}
		if cutAtLinker(m) {
			return kind, linked, linkedWords
		}
		if thrown(bottom) {
			return kind, thrownPart, thrownWords(bottom)
		}
		// Inside a native method the walk starts from the thread's anchor, so where the signal hit cannot be to blame. Compiled code that
		// has no bytecode index at pc looks like one.
		if inFrame && m.GetTopState() == "compiled" || anchored(sus) && (inFrame || ofItsOwn(m)) {
			return kind, "below " + name(bottom), "the caller of " + name(bottom)
		}
	}
	if m.GetKind() != "truncated" && bottom != nil && continuation(bottom) && frozen(m.GetReference().GetFrames(), sus) {
		return kind, "continuation", "a continuation"
	}
	if other, place := deep(m); place != "" && !misled(m) {
		return other, place, place
	}
	if first := at(sus, 0); first != nil {
		return kind, here, here + " under " + name(first)
	}
	return kind, here, here
}

// thrownPart is the part of a walk that is cut off where the VM constructs an exception, by an upcall.
const thrownPart = "upcall exception"

func thrownWords(constructor *misstepv1.Frame) string {
	return "the VM's construction of an exception (here " + name(constructor) + ")"
}

// byVM are exceptions that the VM throws where compiled code fails implicitly (HotSpot: c1_Runtime1.cpp, sharedRuntime.cpp), and where what it refers to
// is not to be had (linkResolver.cpp, systemDictionary.cpp, instanceKlass.cpp), which C1's patching stubs find out.
var byVM = map[string]bool{
	"java.lang.AbstractMethodError": true, "java.lang.BootstrapMethodError": true, "java.lang.ClassCircularityError": true, "java.lang.ClassFormatError": true,
	"java.lang.ExceptionInInitializerError": true, "java.lang.IllegalAccessError": true, "java.lang.InstantiationError": true, "java.lang.LinkageError": true,
	"java.lang.NoClassDefFoundError": true, "java.lang.NoSuchFieldError": true, "java.lang.NoSuchMethodError": true, "java.lang.UnsatisfiedLinkError": true,
	"java.lang.VerifyError":         true,
	"java.lang.ArithmeticException": true, "java.lang.ArrayIndexOutOfBoundsException": true, "java.lang.ArrayStoreException": true, "java.lang.ClassCastException": true,
	"java.lang.IncompatibleClassChangeError": true, "java.lang.NegativeArraySizeException": true, "java.lang.NullPointerException": true,
}

// thrownByVM says that the frame is the constructor of such an exception, and that the stack holds the VM's entry into Java code: in a signal, among the
// words that point at code.
func thrownByVM(m *misstepv1.Mismatch, f *misstepv1.Frame) bool {
	return f.GetMethod() == "<init>" && byVM[f.GetClassName()] && (!asynchronous(m) || slices.ContainsFunc(m.GetStack(), func(w *misstepv1.StackWord) bool {
		return strings.HasPrefix(w.GetCode(), "stub ") && strings.Contains(w.GetCode(), "call_stub") // "Stub Generator call_stub_stub" on 26
	}))
}

// thrown says that the frame may be a constructor that the VM calls to throw an exception.
func thrown(f *misstepv1.Frame) bool {
	class := f.GetClassName()
	return f.GetMethod() == "<init>" && (strings.HasSuffix(class, "Exception") || strings.HasSuffix(class, "Error") || class == "java.lang.Throwable")
}

// special is an edge whose kind alone identifies it.
func special(e edge) (string, bool) {
	if upcall(e.callee) != "" || continuation(e.callee) || continuation(e.caller) {
		return e.String(), true
	}
	return "", false
}

// asynchronous says that a signal, not a method entry, took the sample: the top frame may have been anywhere.
func asynchronous(m *misstepv1.Mismatch) bool { return m.GetPc() != 0 || len(m.GetCode()) > 0 }

// top is the part for a walk that went wrong because of where the signal hit.
func top(m *misstepv1.Mismatch) string {
	state := m.GetTopState()
	if state == "" {
		state = "unknown"
	}
	return "top: " + state + " " + stage(m)
}

// frozen says that a virtual thread's own frames, which the reference has down to VirtualThread.run, are not all in the
// suspect, which goes on into the carrier or ends.
func frozen(ref, sus []*misstepv1.Frame) bool {
	if len(ref) == 0 || !continuation(ref[len(ref)-1]) {
		return false
	}
	for _, f := range sus {
		if f.GetClassName() == "java.lang.VirtualThread" && f.GetMethod() == "run" {
			return false
		}
	}
	return true
}

// stop returns the index in ref (from the top) of the last frame that the truncated sus has. Tops may differ by the frames
// that moved between two observations, and recursion repeats frames, so of all places where sus could end the one is taken
// at which most frames above it agree, the nearest to sus's own length among equals.
func stop(ref, sus []*misstepv1.Frame) int {
	best, bestScore, bestOff := min(len(sus), len(ref))-1, 0, 0
	if len(sus) == 0 {
		return -1
	}
	// Recursion makes this quadratic, so names are normalised once.
	above, below := methods(ref), methods(sus)
	for j := range above {
		score := 0
		for a, b := j, len(below)-1; a >= 0 && b >= 0 && above[a].same(below[b]); a, b = a-1, b-1 {
			score++
		}
		off := max(j-(len(sus)-1), len(sus)-1-j)
		if score > bestScore || score > 0 && score == bestScore && off < bestOff {
			best, bestScore, bestOff = j, score, off
		}
	}
	return best
}

// diverge returns the index from the bottom at which the two first differ: by their frames, or what the agent said when one
// of the traces is absent.
func diverge(m *misstepv1.Mismatch, ref, sus []*misstepv1.Frame) int {
	if len(ref) == 0 || len(sus) == 0 {
		return int(min(m.GetDivergence(), 1<<20))
	}
	n := min(len(ref), len(sus))
	for u := range n {
		r, s := fromBottom(ref, u), fromBottom(sus, u)
		if !sameMethod(r, s) || m.GetKind() == "wrong-bci" && r.GetBci() != s.GetBci() && (!native(r) || !native(s)) {
			return u
		}
	}
	return n
}

func at(frames []*misstepv1.Frame, i int) *misstepv1.Frame {
	if i < 0 || i >= len(frames) {
		return nil
	}
	return frames[i]
}

func fromBottom(frames []*misstepv1.Frame, i int) *misstepv1.Frame {
	return at(frames, len(frames)-1-i)
}

func placeWords(what string) string {
	if strings.HasPrefix(what, "after ") || strings.HasPrefix(what, "below ") {
		return what
	}
	return "at " + what
}

func kindWords(kind string) string {
	switch kind {
	case "truncated":
		return "the stack is cut off"
	case "missing":
		return "frames are missing"
	case "extra":
		return "frames too many"
	case "foreign":
		return "frames of no caller"
	case "swapped":
		return "frames in the wrong order"
	case "wrong-method":
		return "a wrong method"
	case "wrong-bci":
		return "a wrong bytecode index"
	case "code":
		return "a code in place of a stack"
	case "impossible-edge":
		return "a call that the bytecode cannot make"
	}
	return kind
}

func depthWords(m *misstepv1.Mismatch) string {
	r, s := len(m.GetReference().GetFrames()), len(m.GetSuspect().GetFrames())
	if r == s || r == 0 || m.GetCheck() == "edges" { // the reference of edges ends where the call is
		return ""
	}
	return fmt.Sprintf(", %d of %d frames", s, r)
}
