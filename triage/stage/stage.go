// Package stage defines the stages in the life of a thread's top frame when a signal hits it: they decide whether a stack walker
// that begins there can find the caller.
//
// The stage follows from machine code, so each architecture has its own Reader (package x86); this package has what all share.
package stage

// Stages of a frame's life, as signatures name them.
const (
	// Prologue: the frame is not set up yet, or the code never has one.
	Prologue = "prologue"
	// Epilogue: the frame is taken down, or about to be.
	Epilogue = "epilogue"
	// SubtypeCheck is code between the words that C1 pushes for its slow subtype check and their pops (HotSpot:
	// c1_LIRAssembler_x86.cpp, emit_typecheck_helper): the walker does not know of them (agent/pushed_jvm_test.go).
	SubtypeCheck = "subtype check"
	// StringSearch is C2's search of a string in another, which keeps its operands, and a copy of short strings, on the
	// stack (string_indexof, string_indexofC8, cpu/x86/c2_MacroAssembler_x86.cpp): the walker does not know of them
	// (agent/searched_jvm_test.go).
	StringSearch = "string search"
	// StringCompression is C2's copy of a string's UTF-16 to Latin-1, which keeps the length on the stack (char_array_compress,
	// cpu/x86/macroAssembler_x86.cpp of 9 to 20): the walker does not know of it (agent/compressed_jvm_test.go).
	StringCompression = "string compression"
	// Barrier is the slow path of a collector's barrier in compiled code, or C code that it calls: registers are on the
	// stack meanwhile, of which the walker does not know (SaveLiveRegisters,
	// cpu/x86/gc/shared/barrierSetAssembler_x86.cpp; agent/stored_jvm_test.go).
	Barrier = "barrier"
	// Aligned is C code that aligns its stack and so has its frame elsewhere than right below its caller's.
	Aligned = "aligned stack"
	// Body is all other code, which reveals nothing about its frame.
	Body = "body"
	// Unknown: there is no code, or no Reader for it.
	Unknown = "code unknown"
)

// Unfinished reports whether the frame is not set up yet, is already taken down, or is larger than the walker assumes. Then the
// place that the signal hit explains a walk that went wrong from the start.
func Unfinished(stage string) bool {
	switch stage {
	case Prologue, Epilogue, SubtypeCheck, StringSearch, StringCompression, Barrier, Aligned:
		return true
	}
	return false
}

// Moment is what is known about the top frame that a signal hit.
type Moment struct {
	// State is what ran: "interpreted", "compiled", "stub", "native" or empty when unknown.
	State string
	// Code at the pc, at most 16 bytes.
	Code []byte
	// SP and FP are the stack and frame pointer, 0 when unknown.
	SP, FP uint64
	// ReturnAt is the address of the first return address into generated code from SP on, for a pc outside of generated
	// code; 0 when none is near.
	ReturnAt uint64
	// ReturnState and ReturnCode describe the code to which C code returns according to the chain of frame pointers; empty where
	// the chain leads nowhere.
	ReturnState string
	ReturnCode  []byte
	// ReturnCopied reports whether the return address is a copy of another, at most 64 bytes above.
	ReturnCopied bool
	// Anchored reports whether the walk began at the thread's anchor and not at the pc.
	Anchored bool
	// CopiesArray reports whether the top frame is of System.arraycopy or calls it by its bytecode: C1 has code of its
	// own for it.
	CopiesArray bool
	// SearchesString reports whether the top frame calls String.indexOf(String) or what implements it: C2 has code of
	// its own for that.
	SearchesString bool
	// CompressesString reports whether the top frame is of StringUTF16.compress or calls it by its bytecode: C2 has code of its own
	// for it.
	CompressesString bool
}

// Reading is what a Reader concludes from a moment.
type Reading struct {
	// Stage is one of this package's constants.
	Stage string
	// By names the evidence, for humans.
	By string
	// Elsewhere reports whether the walk begins at another frame than the one on top: the frame pointer is not that of
	// C code, or the interpreter has removed its frame.
	Elsewhere bool
}

// Reader reads a moment by the instructions of one architecture. It is pure.
type Reader func(Moment) Reading

// Unreadable is the Reader for unsupported architectures.
func Unreadable(Moment) Reading {
	return Reading{Stage: Unknown, By: "an architecture whose code is not read here"}
}
