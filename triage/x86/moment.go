package x86

import "misstep/triage/stage"

// mostSaved registers are pushed before C code makes room for its variables: those that the callee saves.
const mostSaved = 6

// frameless reports whether C code, which generated code called, has no frame of its own, not yet or never: the frame
// pointer leads past the address to which it returns. That is on top of the stack, above nothing but saved registers;
// or further up, where it may also be left over, and no chain of frame pointers leads to generated code. The walker
// continues from there (frame::safe_for_sender, forte.cpp's find_initial_Java_frame), so it misses frames, or takes
// arbitrary words for frames, and the number of right frames proves nothing.
func frameless(m stage.Moment) bool {
	if m.SP == 0 || m.ReturnAt < m.SP {
		return false
	}
	certain := m.ReturnAt-m.SP <= 8*mostSaved || m.ReturnState == ""
	return certain && (m.FP < m.SP || m.FP > m.ReturnAt)
}

// inBarrier reports whether C code, which has its frame, returns to the slow path of a collector's barrier in compiled
// code.
func inBarrier(m stage.Moment) bool { return m.ReturnState == compiled && resumesBarrier(m.ReturnCode) }

// realigned reports whether C code, which compiled code called, has a frame with a copy of its return address next to
// the saved frame pointer, and the address itself a little higher: it aligned its stack for vectors
// (agent/sorted_jvm_test.go). The walker takes the word above the copy for the caller's sp, but in a native method,
// where it begins at the thread's anchor.
func realigned(m stage.Moment) bool {
	return m.ReturnState == compiled && m.ReturnCopied && !m.Anchored
}

// findsHandler reports whether the interpreter has called C code with its frame removed: it looks for the handler of an
// exception.
func findsHandler(m stage.Moment) bool {
	return m.ReturnState == interpreted && rethrows.begin(m.ReturnCode)
}

// copiesArray reports whether the top frame calls System.arraycopy and C1's code of it has both arrays pushed.
func copiesArray(m stage.Moment) bool { return m.CopiesArray && checksArrays(m.Code) }

// leaves reports whether compiled code has its return address on top, so that its frame is gone, and jumps to a stub.
func leaves(m stage.Moment) bool { return m.SP != 0 && m.ReturnAt == m.SP && jumpsFar(m.Code) }

// searches reports whether the top frame calls what C2 has instructions of its own for: the search of a string in
// another.
func searches(m stage.Moment) bool { return m.SearchesString }

// compresses reports whether the top frame is of C2's copy of a string's UTF-16 to Latin-1, or calls it.
func compresses(m stage.Moment) bool { return m.CompressesString }
