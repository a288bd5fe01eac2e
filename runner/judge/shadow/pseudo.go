package shadow

import "misstep/runner/recording"

// Codes of AsyncGetCallTrace for walks that gave no stack and said so (recipe: words.go).
const (
	noFrame     = 0
	notJava     = -3
	unknownJava = -5
	notWalkable = -6
	deoptimises = -9
)

// errorFrames are the names of the frames that async-profiler adds where it gives up (profiler.cpp: asgctError; stackWalker.cpp:
// BCI_ERROR), by the code of AsyncGetCallTrace that says the same.
var errorFrames = map[string]int32{
	"GC_active": -2, "not_walkable_not_Java": -4, "unknown_Java": unknownJava, "not_walkable_Java": notWalkable,
	"unknown_state":  -7,
	"deoptimization": deoptimises, "safepoint": -10,
	"unknown_nmethod": unknownJava, "break_deopt": deoptimises, "break_not_walkable": notWalkable, "break_stack_range": notWalkable,
	"break_interpreted": notWalkable, "break_compiled": notWalkable, "break_entry_frame": notWalkable, "break_stub": notWalkable,
}

// pseudo reports whether a frame of async-profiler is no method: native and kernel functions, stubs, errors.
func pseudo(k recording.FrameKind) bool {
	return k == recording.Native || k == recording.Cpp || k == recording.Kernel
}

// stale reports whether a frame of async-profiler is of a method that was unloaded when the recording was written
// (its flightRecorder.cpp: resolveMethod).
func stale(f *recording.Frame) bool {
	return f.Method != nil && f.Method.Class == "" && f.Method.Name == "stale_jmethodID"
}

// walksVM reports whether a walker of async-profiler finds Java frames by itself. The others ask AsyncGetCallTrace, and show
// nothing where it says that no Java code runs (profiler.cpp: asgctError).
func walksVM(walker string) bool { return walker == "vm" || walker == "vmx" }

// unplaced reports whether a frame's index stands for none. async-profiler's own walkers write 0 for compiled code of whose pc they
// find no debug information, and the compiled method alone (stackWalker.cpp: walkVM; vmStructs.cpp: findScopeOffset). Below the top
// that is a return address behind all of the method's records: the deoptimisation entry, which HotSpot writes over the return
// address of a frame whose code was invalidated during a call (frame.cpp: deoptimize).
func (j *Judge) unplaced(f *recording.Frame) bool {
	// async-profiler's "C1 compiled" is no kind of JFR's.
	compiled := f.Kind == recording.Compiled || f.Kind == recording.UnknownFrame
	return j.in.Source == AsyncProfiler && walksVM(j.in.Walker) && compiled && f.BCI == 0
}

// gaveUp reports whether the walker says that it lost its way, and with which code.
func (j *Judge) gaveUp(s *recording.Stack) (code int32, yes bool) {
	if j.in.Source != AsyncProfiler {
		return 0, false
	}
	java := false
	for i := range s.Frames {
		f := &s.Frames[i]
		if !pseudo(f.Kind) {
			java = true
			continue
		}
		if f.Method == nil || f.Method.Class != "" {
			continue
		}
		if code, is := errorFrames[f.Method.Name]; is {
			return code, true
		}
	}
	return notJava, !java && !walksVM(j.in.Walker)
}
