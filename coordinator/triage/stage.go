package triage

import (
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
)

// stage is the stage of the frame at the signal's place, by the stack where that tells and by the code else.
func stage(m *misstepv1.Mismatch) string {
	if frameless(m) {
		return prologue
	}
	if spilled(m) {
		return barrier
	}
	if realigned(m) {
		return aligned
	}
	if copiesArray(m) {
		return pushed
	}
	if throws(m) {
		return epilogue
	}
	// The return address on top: the frame is gone.
	if m.GetTopState() == "compiled" && m.GetSp() != 0 && m.GetReturnAt() == m.GetSp() && jumpsFar(m.GetCode()) {
		return epilogue
	}
	code := Code(m.GetTopState(), m.GetCode())
	if code == body && searches(m) {
		return searched
	}
	return code
}

// mostSaved registers are pushed before C code makes room for its variables: those that the callee saves.
const mostSaved = 6

// frameless says that C code, which generated code called, has no frame of its own, not yet or never: the frame pointer leads past the address to which it
// returns. That is on top of the stack, above nothing but saved registers; or further up, where it may also be left over, and no chain of frame pointers
// leads to generated code. The walker goes on from there (frame::safe_for_sender, forte.cpp's find_initial_Java_frame), so it leaves frames out, or takes
// what stands there for frames, and how far that goes right says nothing.
func frameless(m *misstepv1.Mismatch) bool {
	at, sp, fp := m.GetReturnAt(), m.GetSp(), m.GetFp()
	sure := at-sp <= 8*mostSaved || m.GetReturnState() == ""
	return m.GetTopState() == "native" && at >= sp && sp != 0 && sure && (fp < sp || fp > at)
}

// spilled says that C code, which has its frame, returns to compiled code that takes registers back from the stack, gives their room free, and jumps back
// to where it came from, or pops the others: in a method handle's linker. An epilogue goes on otherwise.
func spilled(m *misstepv1.Mismatch) bool {
	if m.GetTopState() != "native" || m.GetReturnState() != "compiled" {
		return false
	}
	code, _ := movesResult(m.GetReturnCode()) // ZGC's call returns the reference
	code, loads, vectors := takesBack(code)
	return (loads > 0 || vectors == 0) && oneOf(freesRoom, code) || vectors > 0 && oneOf(popsRegisters, code)
}

// realigned says that C code, which compiled code called, has a frame with a copy of its return address next to the saved frame pointer, and the address
// itself a little higher: it aligned its stack for vectors (agent/sorted_jvm_test.go). The walker takes the word above the copy for the caller's sp,
// but in a native method, where it begins at the thread's anchor.
func realigned(m *misstepv1.Mismatch) bool {
	return m.GetTopState() == "native" && m.GetReturnState() == "compiled" && m.GetReturnCopied() && !anchored(m.GetSuspect().GetFrames())
}

// throws says that the interpreter has called C code with its frame removed: it looks for the handler of an exception.
func throws(m *misstepv1.Mismatch) bool {
	return m.GetTopState() == "native" && m.GetReturnState() == "interpreted" && rethrown.begins(m.GetReturnCode())
}

// freesRoom is add rsp, N; jmp.
var freesRoom = []form{
	{code: []int{0x48, 0x83, 0xc4, whatever, 0xe9}},
	{code: []int{0x48, 0x83, 0xc4, whatever, 0xeb}},
	{code: []int{0x48, 0x81, 0xc4, whatever, whatever, whatever, whatever, 0xe9}},
	{code: []int{0x48, 0x81, 0xc4, whatever, whatever, whatever, whatever, 0xeb}},
}

// popsRegisters is add rsp, N; pop r11; pop r10: ZBarrierSetAssembler::load_at of 21 and newer (cpu/x86/gc/z/zBarrierSetAssembler_x86.cpp).
var popsRegisters = []form{
	{code: []int{0x48, 0x83, 0xc4, whatever, 0x41, 0x5b, 0x41, 0x5a}},
	{code: []int{0x48, 0x81, 0xc4, whatever, whatever, whatever, whatever, 0x41, 0x5b, 0x41, 0x5a}},
}

// mostMisled frames of a walk that did not begin at the top may be right, as they are of one compiled frame. Seven were the most.
const mostMisled = 8

// misled says that the walk did not begin where the thread was, or did not see how large the first compiled frame is: that some frames are right says
// nothing. In a native method the walk begins at the thread's anchor.
func misled(m *misstepv1.Mismatch) bool {
	sus := m.GetSuspect().GetFrames()
	elsewhere := frameless(m) || spilled(m) || realigned(m) || throws(m) || m.GetTopState() == "interpreted" && unfinished(m)
	return elsewhere && len(sus) > 0 && !anchored(sus) && agreed(m.GetReference().GetFrames(), sus) <= mostMisled
}

// copiesArray says that the top frame, in compiled code, calls System.arraycopy: C1 pushes both arrays and asks whether the one's class
// is a subtype of the other's (emit_arraycopy, c1_LIRAssembler_x86.cpp). Elsewhere it asks the same without pushing anything before.
func copiesArray(m *misstepv1.Mismatch) bool {
	const copies = "java.lang.System.arraycopy"
	called, top := m.GetTopCall(), at(m.GetSuspect().GetFrames(), 0)
	return m.GetTopState() == "compiled" && (called != nil && name(called) == copies || name(top) == copies) && (oneOf(supertype, m.GetCode()) || decodesClass(m.GetCode()) || popsArrays(m.GetCode()))
}

// searches says that the top frame, in compiled code, calls what C2 has instructions of its own for: the search of a string in another.
func searches(m *misstepv1.Mismatch) bool {
	called := m.GetTopCall()
	if m.GetTopState() != "compiled" || called == nil || !strings.HasPrefix(called.GetMethod(), "indexOf") {
		return false
	}
	switch called.GetClassName() {
	case "java.lang.StringLatin1", "java.lang.StringUTF16":
		return strings.HasPrefix(called.GetDescriptor_(), "([B") && strings.Contains(called.GetDescriptor_()[2:], "[B")
	case "java.lang.String": // 8
		return strings.HasPrefix(called.GetDescriptor_(), "(Ljava/lang/String;")
	}
	return false
}

// answered is what C1 does with the answer to whether an array may be copied to another, both still pushed: cmp r, 0; jne; pop; pop.
var answered = form{code: []int{0x83, whatever, 0x00, 0x0f, 0x85, whatever, whatever, whatever, whatever}}

// popsArrays says that the arrays are popped, or the last of them is, behind the check that lets them be copied as they are: pop; pop; lea. Or that both
// will be, as they may not.
func popsArrays(code []byte) bool {
	const pop = 0x58
	if answered.begins(code) {
		code = code[len(answered.code):]
		return len(code) > 1 && code[0]&^7 == pop && code[1]&^7 == pop
	}
	if len(code) > 0 && code[0]&^7 == pop {
		code = code[1:]
		if len(code) > 0 && code[0]&^7 == pop {
			code = code[1:]
		}
		return len(code) > 1 && code[0]&^7 == 0x48 && code[1] == 0x8d // lea
	}
	return false
}

// unfinished says that the top frame is not set up yet, or taken down already, or larger than the walker takes it for: then the signal's place
// explains a walk that went wrong from the start.
func unfinished(m *misstepv1.Mismatch) bool {
	switch stage(m) {
	case prologue, epilogue, pushed, searched, barrier, aligned:
		return true
	}
	return false
}

// topToBlame says that the signal's place explains where a bracket's walk left the reference, though that is of later: the walk went wrong at the top. A
// top that is a frame of its own stands for the first frames only.
func topToBlame(m *misstepv1.Mismatch, frames int) bool {
	return misled(m) || unfinished(m) && (!ofItsOwn(m) || frames <= deepEnough)
}

// leftAtTop says the same where all is right again below so many frames: they are no more than one compiled frame may stand for, and some that were made
// up.
func leftAtTop(m *misstepv1.Mismatch, frames int) bool {
	return frames <= mostFrames(m) && topToBlame(m, frames)
}

// mostFrames may be right of a walk that went wrong at the top.
func mostFrames(m *misstepv1.Mismatch) int {
	if m.GetTopState() == "compiled" {
		return mostInlined
	}
	return mostMisled
}

// mostInlined is HotSpot's MaxInlineLevel: as deep code inlines methods in one another. Ten of them and three made up were the most.
const mostInlined = 15
