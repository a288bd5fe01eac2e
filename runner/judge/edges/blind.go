package edges

import (
	"slices"
	"strings"

	"misstep/runner/judge/altered"
	"misstep/runner/recording"
)

// Blind reports whether a fault of a class of altered.Faults, at an index of the frames, cannot be noticed by this check, since all
// edges of what became of them are possible: parts of a stack are a stack; a method may call its own or another one of the name;
// the VM may call some methods from nearly every instruction; linkers stand above the site of a method handle; an unknown version
// of a redefined class may run.
func (j *Judge) Blind(class string, changed, frames []recording.Frame, at int) bool {
	switch class {
	case altered.MiddleDropped:
		return callsAlike(frames, at) || j.tolerates(changed, at)
	case altered.Doubled:
		return callsAlike(frames, at) || j.tolerates(changed, at+1)
	case altered.Exchanged:
		// The next edge asks the frame for what it called before; the third one is there if the lower frame has a caller.
		return j.tolerates(changed, at) || callsAlike(frames, at) &&
			(altered.Alike(frames[at+1], frames[at-1]) || j.tolerates(changed, at+1)) &&
			(at+2 == len(frames) || callsAlike(frames, at+1) || j.tolerates(changed, at+2))
	case altered.WrongMethod, altered.LowerHalf:
		return altered.Alike(changed[at], frames[at]) || j.tolerates(changed, at)
	case altered.WrongBCI:
		return j.tolerates(changed, at)
	}
	return true
}

// callsAlike reports whether a frame calls its own method or another one of the name.
func callsAlike(frames []recording.Frame, at int) bool {
	return altered.Alike(frames[at], frames[at-1])
}

// tolerates reports whether a rule permits the edge from a frame to the one above it, whatever the bytecode is.
func (j *Judge) tolerates(frames []recording.Frame, at int) bool {
	linker := strings.HasPrefix(frames[at-1].Method.Class, invokers)
	return slices.ContainsFunc(j.methodOf(frames[at-1].Method).versions, func(v *version) bool { return v.upcall != 0 }) ||
		slices.ContainsFunc(j.methodOf(frames[at].Method).versions, func(v *version) bool {
			t := v.at(frames[at].BCI).target
			return v.class.redefined || linker && t != nil && t.polymorphic
		})
}
