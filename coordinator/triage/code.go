package triage

import (
	"bytes"
	"slices"

	misstepv1 "misstep/proto/misstep/v1"
)

// form is how instructions of x86-64 begin and what they tell of the frame that they work on. whatever stands for any byte.
type form struct {
	code  []int
	stage string
}

const whatever = -1

// HotSpot's compilers emit these in MachPrologNode and MachEpilogNode (x86_64.ad) and in C1's build_frame and remove_frame.
var forms = []form{
	{[]int{0xf3, 0x0f, 0x1e, 0xfa}, prologue}, // endbr64: a C function's first
	{[]int{0x89, 0x84, 0x24}, prologue},       // mov [rsp-N], eax: stack bang
	{[]int{0x55}, prologue},                   // push rbp
	{[]int{0x48, 0x83, 0xec}, prologue},       // sub rsp, imm8
	{[]int{0x48, 0x81, 0xec}, prologue},       // sub rsp, imm32
	{[]int{0x52, 0x48, 0x83, 0xec}, prologue}, // push rdx; sub rsp, imm8: OptoRuntime's exception blob
	{[]int{0x48, 0x89, 0x6c, 0x24}, prologue}, // mov [rsp+N], rbp
	{[]int{0x48, 0x8b, 0xec}, prologue},       // mov rbp, rsp
	{[]int{0x48, 0x89, 0xe5}, prologue},       // mov rbp, rsp
	{[]int{0x48, 0x83, 0xc4}, epilogue},       // add rsp, imm8
	{[]int{0x48, 0x81, 0xc4}, epilogue},       // add rsp, imm32
	{[]int{0x5d}, epilogue},                   // pop rbp
	{[]int{0xc9}, epilogue},                   // leave
	{[]int{0xc3}, epilogue},                   // ret
	{[]int{0xc2}, epilogue},                   // ret imm16
	{[]int{0x49, 0x3b, 0xa7}, epilogue},       // cmp rsp, [r15+N]: return poll
	{[]int{0x49, 0x3b, 0x67}, epilogue},       // the same with a short offset: 25
	{[]int{0x4d, 0x8b, 0x97, whatever, whatever, whatever, whatever, 0x41, 0x85, 0x02, 0xc3}, epilogue}, // mov r10, [r15+N]; test [r10], eax; ret: 11
	{[]int{0x41, 0x85, 0x02}, epilogue},                                                     // test [r10], eax: return poll of 8 and 11
	{[]int{0x85, 0x05, whatever, whatever, whatever, whatever, 0xc3}, epilogue},             // test [rip+N], eax; ret: 8
	{[]int{0x0f, 0x87, whatever, whatever, whatever, whatever, 0xc3}, epilogue},             // ja: to the return poll's stub; ret
	{[]int{0x0f, 0x82, whatever, whatever, whatever, whatever, 0x49, 0x8b, 0xff}, epilogue}, // jb; mov rdi, r15: MacroAssembler::reserved_stack_check
}

const (
	prologue = "prologue"
	epilogue = "epilogue"
	// pushed is code between the words that C1 pushes for its slow subtype check and their pops (c1_LIRAssembler_x86.cpp, emit_typecheck_helper): the
	// walker does not know of them (agent/pushed_jvm_test.go).
	pushed = "subtype check"
	// barrier is C code that a slow path of a collector's barrier in compiled code calls: it keeps registers on the stack meanwhile, of which the
	// walker does not know (SaveLiveRegisters, cpu/x86/gc/shared/barrierSetAssembler_x86.cpp; agent/stored_jvm_test.go).
	barrier = "barrier"
)

// Code classifies the instructions at a pc of x86-64 in code of a state by the stage of the frame's life that decides whether its caller can be found.
func Code(state string, code []byte) string {
	for _, f := range forms {
		// The interpreter's templates make room on the stack for a value by the same instruction.
		if f.begins(code) && (state != "interpreted" || f.code[0] != 0x48 || f.code[1] != 0x83) {
			return f.stage
		}
	}
	switch {
	case len(code) == 0:
		return "code unknown"
	case state == "native" && setsUpFrame(code):
		return prologue
	case state == "compiled" && popsWords(code):
		return pushed
	case state == "stub" && inARow(code, load):
		return epilogue
	case state == "stub" && inARow(code, store):
		return prologue
	}
	return "body"
}

// stage is the stage of the frame at the signal's place, by the stack where that tells and by the code else.
func stage(m *misstepv1.Mismatch) string {
	if frameless(m) {
		return prologue
	}
	if spilled(m) {
		return barrier
	}
	if copiesArray(m) {
		return pushed
	}
	return Code(m.GetTopState(), m.GetCode())
}

// mostSaved registers are pushed before C code makes room for its variables: those that the callee saves.
const mostSaved = 6

// frameless says that C code, which generated code called, has no frame of its own, not yet or never: the address to which it returns is on top of the
// stack, above nothing but saved registers, and the frame pointer points elsewhere. The walker goes on from there (frame::safe_for_sender, forte.cpp's
// find_initial_Java_frame), so it leaves frames out, or takes what stands there for frames, and how far that goes right says nothing.
func frameless(m *misstepv1.Mismatch) bool {
	at, sp, fp := m.GetReturnAt(), m.GetSp(), m.GetFp()
	return m.GetTopState() == "native" && at >= sp && sp != 0 && at-sp <= 8*mostSaved && (fp < sp || fp > at)
}

func (f form) begins(code []byte) bool {
	if len(code) < len(f.code) {
		return false
	}
	for i, b := range f.code {
		if b != whatever && byte(b) != code[i] {
			return false
		}
	}
	return true
}

// setsUpFrame says that a C function's frame pointer is set further on: until then it is another frame's.
func setsUpFrame(code []byte) bool {
	at := bytes.Index(code, []byte{0x48, 0x89, 0xe5}) // mov rbp, rsp
	return at >= 0 && bytes.IndexByte(code[:at], 0xc3) < 0
}

// popsWords says that one word or two are popped, the last one into a register which is then asked for zero, now or after a call.
func popsWords(code []byte) bool {
	if call := (form{code: []int{0xe8, whatever, whatever, whatever, whatever}}); call.begins(code) {
		code = code[5:]
	}
	const pop, cmp, rexB, rexR = 0x58, 0xf8, 0x41, 0x44
	last, popped := byte(0), 0
	for ; popped < 2; popped++ {
		high := byte(0)
		if len(code) > 0 && code[0] == rexB {
			high = 8
		}
		if at := int(high / 8); len(code) > at && code[at]&^7 == pop {
			last, code = high|code[at]&7, code[at+1:]
			continue
		}
		break
	}
	if popped == 0 {
		return false
	}
	compare, test := []byte{0x83, cmp | last&7, 0}, []byte{0x85, 0xc0 | last&7<<3 | last&7} // test since 25
	if last >= 8 {
		compare, test = append([]byte{rexB}, compare...), append([]byte{rexB | rexR}, test...)
	}
	return bytes.HasPrefix(code, compare) || bytes.HasPrefix(code, test)
}

// spilled says that C code, which has its frame, returns to compiled code that takes registers back from the stack, gives their room free, and jumps back
// to where it came from. An epilogue goes on otherwise.
func spilled(m *misstepv1.Mismatch) bool {
	if m.GetTopState() != "native" || m.GetReturnState() != "compiled" {
		return false
	}
	code, loads := m.GetReturnCode(), 0
	for _, length := onStack(code, load); length > 0; _, length = onStack(code, load) {
		code, loads = code[length:], loads+1
	}
	for _, f := range freesRoom {
		if f.begins(code) {
			return true
		}
		// Vector registers come last.
		if at := bytes.Index(code, []byte{byte(f.code[0]), byte(f.code[1]), byte(f.code[2])}); at >= 0 && loads > 0 && f.begins(code[at:]) {
			return true
		}
	}
	return false
}

// freesRoom is add rsp, N; jmp.
var freesRoom = []form{
	{code: []int{0x48, 0x83, 0xc4, whatever, 0xe9}},
	{code: []int{0x48, 0x83, 0xc4, whatever, 0xeb}},
	{code: []int{0x48, 0x81, 0xc4, whatever, whatever, whatever, whatever, 0xe9}},
	{code: []int{0x48, 0x81, 0xc4, whatever, whatever, whatever, whatever, 0xeb}},
}

// mostMisled frames of a walk that did not begin at the top may be right, as they are of one compiled frame. Seven were the most.
const mostMisled = 8

// misled says that the walk did not begin where the thread was, or did not see how large the first compiled frame is: that some frames are right says
// nothing. In a native method the walk begins at the thread's anchor.
func misled(m *misstepv1.Mismatch) bool {
	sus := m.GetSuspect().GetFrames()
	return (frameless(m) || spilled(m)) && len(sus) > 0 && sus[0].GetBci() != nativeLocation && agreed(m.GetReference().GetFrames(), sus) <= mostMisled
}

// copiesArray says that the top frame, in compiled code, is of a method that calls System.arraycopy: C1 pushes both arrays and asks whether the one's class
// is a subtype of the other's (emit_arraycopy, c1_LIRAssembler_x86.cpp). Elsewhere it asks the same without pushing anything before.
func copiesArray(m *misstepv1.Mismatch) bool {
	top := at(m.GetSuspect().GetFrames(), 0)
	switch name(top) {
	case "java.lang.System.arraycopy", "java.util.Arrays.copyOf", "java.util.Arrays.copyOfRange", "java.util.ArrayList.toArray":
		return m.GetTopState() == "compiled" && looksAtSupertype(m.GetCode())
	}
	return false
}

// supertype is the beginning of a subtype check: is it the class itself, and what do its first supertypes say (check_klass_subtype_fast_path,
// cpu/x86/macroAssembler_x86.cpp).
var supertype = []form{
	{code: []int{whatever, 0x3b, whatever, 0x0f, 0x84, whatever, whatever, whatever, whatever, 0x8b, whatever, 0x14}}, // cmp; je; mov r, [super+20]
	{code: []int{whatever, 0x3b, whatever, 0x0f, 0x84, whatever, whatever, whatever, whatever, whatever, 0x8b, whatever, 0x14}},
	{code: []int{0x0f, 0x84, whatever, whatever, whatever, whatever, 0x83, whatever, 0x20, 0x0f, 0x85}},           // je; cmp r, 32; jne
	{code: []int{0x0f, 0x84, whatever, whatever, whatever, whatever, whatever, 0x83, whatever, 0x20, 0x0f, 0x85}}, // 32: the cache of the others
}

func looksAtSupertype(code []byte) bool {
	return slices.ContainsFunc(supertype, func(f form) bool { return f.begins(code) })
}

// Instructions that move eight bytes between a register and the stack.
const (
	load  = 0x8b
	store = 0x89
)

// inARow says that a stub takes registers back that it has saved, or saves them, at least two in a row: mov [rsp+N], reg; mov [rsp+N-8], reg. Its frame
// has another size then (MacroAssembler::pusha, popa; RegisterSaver).
func inARow(code []byte, what byte) bool {
	first, length := onStack(code, what)
	if length == 0 {
		return false
	}
	second, length := onStack(code[length:], what)
	return length != 0 && (second == first+8 || second == first-8)
}

// onStack is the offset from rsp of the load or store that code begins with, and the instruction's length, 0 when it is another.
func onStack(code []byte, what byte) (offset, length int) {
	const (
		rexW, rexR = 0x48, 0x04
		sib, rsp   = 0x04, 0x24
	)
	if len(code) < 4 || code[0]&^rexR != rexW || code[1] != what || code[2]&0x07 != sib || code[3] != rsp {
		return 0, 0
	}
	switch code[2] >> 6 {
	case 0:
		return 0, 4
	case 1:
		if len(code) > 4 && code[4] < 0x80 {
			return int(code[4]), 5
		}
	}
	return 0, 0
}

// unfinished says that the top frame is not set up yet, or taken down already, or larger than the walker takes it for: then the signal's place
// explains a walk that went wrong from the start.
func unfinished(m *misstepv1.Mismatch) bool {
	switch stage(m) {
	case prologue, epilogue, pushed, barrier:
		return true
	}
	return false
}
