package main

import (
	"slices"
	"strings"

	"misstep/runner/judge/altered"
	"misstep/runner/recording"
)

// Reasons for which a check cannot see a fault: the named exceptions of the goal.
const (
	blindNoEntry = "only frames that the shadow does not hold (not instrumented, constructors), or no methods (indices, lines)"
	blindTop     = "only the newest entry of the shadow, whose method may be in its push or pop"
	blindInlined = "up to four newest entries on top of compiled code, whose debug information is exact at its entries only"
	blindLater   = "up to sixteen newest entries of a sample walked at the next safepoint (JEP 518)"
	blindAlone   = "up to sixteen newest entries where a compiled method stands alone at index 0, for want of debug information"
	blindGaveUp  = "the trace says that its walk gave up, or has no Java frames: which answer was due is not known"
	blindLacking = "a method that is not there may be any: jfr-chunks says that the constant is lacking"
	blindEdges   = "every edge is possible: whole traces, parts of one, lines, recursions, methods that the VM calls, linkers, " +
		"redefined classes"
	blindSeen = "every edge is in other traces of the recording, too"
	blindIDs  = "what a chunk says under one id nothing contradicts"
)

const (
	// mostInlined and nearby are bounds of the rules of the checks of samples (runner/judge/shadow, compare.go).
	mostInlined = 16
	nearby      = 4
)

// entries are the methods of a trace that the shadow must have, outermost first.
func entries(frames []recording.Frame, instrumented map[string]bool) (names []string) {
	for _, f := range slices.Backward(frames) {
		if f.Method == nil || f.Method.Name == "<init>" {
			continue
		}
		name := strings.ReplaceAll(f.Method.Class, ".", "/") + "." + f.Method.Name + f.Method.Descriptor
		if instrumented[name] {
			names = append(names, name)
		}
	}
	return names
}

// blindShadow returns the reason why the shadow does not contradict a trace with a fault, empty if it does. later says that the
// sample may have been walked after its signal.
func blindShadow(class string, before, after []recording.Frame, instrumented map[string]bool, later bool) string {
	was, is := entries(before, instrumented), entries(after, instrumented)
	common := 0
	for common < min(len(was), len(is)) && was[common] == is[common] {
		common++
	}
	differ := max(len(was), len(is)) - common
	switch {
	case class == altered.MethodRemoved:
		return blindLacking
	case differ == 0:
		return blindNoEntry
	case differ == 1:
		return blindTop
	case later && differ <= mostInlined:
		return blindLater
	case compiledCode(before[0]) && len(was)-common <= nearby && len(is)-common <= nearby+1:
		return blindInlined
	case after[0].BCI == 0 && compiledCode(after[0]) && len(is)-common <= 1 && len(was)-common <= mostInlined:
		return blindAlone
	}
	return ""
}

// compiledCode reports whether a frame is of compiled code; async-profiler's "C1 compiled" is no kind of JFR's.
func compiledCode(f recording.Frame) bool {
	return f.Kind == recording.Compiled || f.Kind == recording.Inlined || f.Kind == recording.UnknownFrame
}
