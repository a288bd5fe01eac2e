package triage

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// form is how instructions of x86-64 begin and what they tell of the frame that they work on. whatever stands for any byte.
type form struct {
	code  []int
	stage string
}

const whatever = -1

// HotSpot's compilers emit these in MachPrologNode and MachEpilogNode (x86_64.ad) and in C1's build_frame and remove_frame.
var forms = []form{
	{[]int{0xf3, 0x0f, 0x1e, 0xfa}, prologue},                   // endbr64: a C function's first
	{[]int{0x89, 0x84, 0x24}, prologue},                         // mov [rsp-N], eax: stack bang
	{[]int{0x55}, prologue},                                     // push rbp
	{[]int{0x53, 0x55, 0x48, 0x8b, 0xec}, prologue},             // push rbx; push rbp; mov rbp, rsp: a stub's, 26
	{[]int{0x48, 0x83, 0xec}, prologue},                         // sub rsp, imm8
	{[]int{0x48, 0x81, 0xec}, prologue},                         // sub rsp, imm32
	{[]int{0x52, 0x48, 0x83, 0xec}, prologue},                   // push rdx; sub rsp, imm8: OptoRuntime's exception blob
	{[]int{0x48, 0x89, 0x6c, 0x24}, prologue},                   // mov [rsp+N], rbp
	{[]int{0x48, 0x8b, 0xec}, prologue},                         // mov rbp, rsp
	{[]int{0x48, 0x89, 0xe5}, prologue},                         // mov rbp, rsp
	{[]int{0x48, 0x83, 0xc4}, epilogue},                         // add rsp, imm8
	{[]int{0x48, 0x81, 0xc4}, epilogue},                         // add rsp, imm32
	{[]int{0x5d}, epilogue},                                     // pop rbp
	{[]int{0xc9}, epilogue},                                     // leave
	{[]int{0xc3}, epilogue},                                     // ret
	{[]int{0xc2}, epilogue},                                     // ret imm16
	{[]int{0x48, 0x8b, 0xc2, 0xc3}, epilogue},                   // mov rax, rdx; ret: a stub's
	{[]int{0x0f, 0x85, 0x01, 0x00, 0x00, 0x00, 0xc3}, epilogue}, // jne behind it; ret: a native method's wrapper, when nothing was thrown
	{[]int{0x49, 0x81, 0x7f, whatever, 0, 0, 0, 0, 0x0f, 0x85, 0x01, 0, 0, 0, 0xc3}, epilogue}, // cmp [r15+N], 0 before it: was anything thrown?
	{[]int{0x49, 0x3b, 0xa7}, epilogue},                                             // cmp rsp, [r15+N]: return poll
	{[]int{0x49, 0x3b, 0x67}, epilogue},                                             // the same with a short offset: 25
	{[]int{0x41, 0xf6, 0x47, whatever, 0x01, 0x74, whatever, 0x49, 0xba}, epilogue}, // test byte [r15+N], 1; je; mov r10, this pc: a native method's return poll, 27
	{[]int{0x74, whatever, 0x49, 0xba, whatever, whatever, whatever, whatever, whatever, whatever, 0, 0, 0x4d, 0x89, 0x97}, epilogue}, // its je; mov r10; mov [r15+N], r10: 25
	{[]int{0x4d, 0x8b, 0x97, whatever, whatever, whatever, whatever, 0x41, 0x85, 0x02, 0xc3}, epilogue},                               // mov r10, [r15+N]; test [r10], eax; ret: 11
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
	// searched is C2's search of a string in another, which keeps what it works on, and a copy of short strings, on the stack (string_indexof,
	// string_indexofC8, cpu/x86/c2_MacroAssembler_x86.cpp): the walker does not know of that (agent/searched_jvm_test.go).
	searched = "string search"
	// barrier is C code that a slow path of a collector's barrier in compiled code calls, or that slow path: it keeps registers on the stack meanwhile, of
	// which the walker does not know (SaveLiveRegisters, cpu/x86/gc/shared/barrierSetAssembler_x86.cpp; agent/stored_jvm_test.go).
	barrier = "barrier"
	// aligned is C code that aligns its stack and so has its frame elsewhere than right below its caller's.
	aligned = "aligned stack"
	// body is all other code: it says nothing of its frame.
	body = "body"
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
	case state == "native" && setsUpFrame(code), state == "interpreted" && entersMethod(code):
		return prologue
	case state == "interpreted" && (oneOf(leavesMethod, code) || adapts.begins(code)):
		return epilogue
	case state == "compiled" && popsWords(code):
		return pushed
	case state == "compiled" && oneOf(searching, code):
		return searched
	case state == "compiled" && (savesRegisters(code) || passesAddress(code) || callsCollector(code) || restoresRegisters(code)):
		return barrier
	case state == "compiled" && leaves.begins(code), state == "stub" && (jumpsAway(code) || oneOf(exceptionBlob, code) || inARow(code, load)):
		return epilogue
	case state == "stub" && (inARow(code, store) || oneOf(allocates, code) || oneOf(finalizes, code)):
		return prologue
	}
	return body
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

// searching is C2's search where the rest of the string is too short for what it has found the beginning of, before it takes the candidate's address. The
// search that keeps nothing on the stack has the same code but for that address.
var searching = []form{
	{code: append([]int{0x3b, 0xd0}, tooShort...)}, // cmp edx, eax
	{code: tooShort},
}

// tooShort is jge behind it; mov ebx, -1; jmp; lea.
var tooShort = []int{0x7d, 0x0a, 0xbb, 0xff, 0xff, 0xff, 0xff, 0xe9, whatever, whatever, whatever, whatever, 0x48, 0x8d}

// supertype is the beginning of a subtype check: is it the class itself, and what do its first supertypes say (check_klass_subtype_fast_path,
// cpu/x86/macroAssembler_x86.cpp).
var supertype = []form{
	{code: []int{whatever, 0x3b, whatever, 0x0f, 0x84, whatever, whatever, whatever, whatever, 0x8b, whatever, 0x0c}},                           // cmp; je; mov r, [super+12]: 8
	{code: []int{whatever, 0x3b, whatever, 0x0f, 0x84, whatever, whatever, whatever, whatever, 0x8b, whatever, 0x10, 0x48, 0x3b}},               // cmp; je; mov r, [super+16]; cmp: 28
	{code: []int{whatever, 0x3b, whatever, 0x0f, 0x84, whatever, whatever, whatever, whatever, 0x8b, whatever, 0x14}},                           // cmp; je; mov r, [super+20]
	{code: []int{whatever, 0x3b, whatever, 0x0f, 0x84, whatever, whatever, whatever, whatever, whatever, 0x8b, whatever, 0x0c}},                 // cmp; je; mov r, [super+12]: 8
	{code: []int{whatever, 0x3b, whatever, 0x0f, 0x84, whatever, whatever, whatever, whatever, whatever, 0x8b, whatever, 0x10, whatever, 0x3b}}, // cmp; je; mov r, [super+16]; cmp: 28
	{code: []int{whatever, 0x3b, whatever, 0x0f, 0x84, whatever, whatever, whatever, whatever, whatever, 0x8b, whatever, 0x14}},                 // cmp; je; mov r, [super+20]
	{code: []int{whatever, 0x3b, whatever, whatever, 0x0f, 0x84, whatever, whatever, whatever, whatever, 0x83, whatever, 0x18}},                 // cmp r, [class+r]
	{code: []int{whatever, 0x3b, whatever, whatever, 0x0f, 0x84, whatever, whatever, whatever, whatever, 0x83, whatever, 0x20}},                 // cmp r, [class+r]
	{code: []int{0x0f, 0x84, whatever, whatever, whatever, whatever, 0x8b, whatever, 0x10, 0x48, 0x3b}},                                         // je; mov r, [super+16]; cmp: 27
	{code: []int{0x0f, 0x84, whatever, whatever, whatever, whatever, 0x8b, whatever, 0x14, 0x48, 0x3b}},                                         // je; mov r, [super+20]; cmp: 26
	{code: []int{0x0f, 0x84, whatever, whatever, whatever, whatever, 0x83, whatever, 0x18, 0x0f, 0x85}},                                         // je; cmp r, N; jne
	{code: []int{0x0f, 0x84, whatever, whatever, whatever, whatever, 0x83, whatever, 0x20, 0x0f, 0x85}},                                         // je; cmp r, N; jne
	{code: []int{0x0f, 0x84, whatever, whatever, whatever, whatever, whatever, 0x83, whatever, 0x18, 0x0f, 0x85}},                               // the cache of the other supertypes is at N: 24 on 8, 32 since
	{code: []int{0x0f, 0x84, whatever, whatever, whatever, whatever, whatever, 0x83, whatever, 0x20, 0x0f, 0x85}},                               // the cache of the other supertypes is at N: 24 on 8, 32 since
}

// decodesClass says that code takes an array's class from it, or goes on with that: at least two instructions in a row that load the reference,
// or the header that holds it, shift it, add it to the base of all classes, or compare it (MacroAssembler::load_klass, decode_klass_not_null). The
// second array's push may stand before them.
func decodesClass(code []byte) bool {
	const push = 0x50
	if len(code) > 0 && code[0]&^7 == push {
		code = code[1:]
	}
	first := classStep(code)
	return first > 0 && first < len(code) && classStep(code[first:]) > 0
}

// classStep is the length of the instruction of decodesClass that code begins with, 0 when it is none.
func classStep(code []byte) int {
	const rex, rexW, rexB = 0x40, 0x08, 0x01
	prefix, at := byte(0), 0
	if len(code) > 0 && code[0]&0xf0 == rex {
		prefix, at = code[0], 1
	}
	if len(code) < at+2 {
		return 0
	}
	wide, operands := prefix&rexW != 0, code[at+1]
	switch mod := operands >> 6; code[at] {
	case 0x8b: // mov r, [r+8]; mov r, [r]: the header
		if mod == 1 && len(code) > at+2 && code[at+2] == 8 {
			return at + 3
		}
		if mod == 0 && wide && operands&7 != 4 && operands&7 != 5 {
			return at + 2
		}
	case 0xc1: // shl, shr r, N
		if wide && operands&^0x0f == 0xe0 {
			return at + 3
		}
	case 0xba: // mov r10, base
		if prefix&rexB != 0 && wide {
			return at + 9
		}
		if prefix&rexB != 0 {
			return at + 5
		}
	case 0x03: // add r, r10
		if wide && mod == 3 {
			return at + 2
		}
	case 0x3b: // cmp r, r; cmp r, [r]
		if wide && (mod == 3 || mod == 0 && operands&7 != 4 && operands&7 != 5) {
			return at + 2
		}
	}
	return 0
}

// oneOf says that code begins as one of these forms does.
func oneOf(these []form, code []byte) bool {
	return slices.ContainsFunc(these, func(f form) bool { return f.begins(code) })
}

// adapts is the last instruction of an adapter, in which compiled code calls an interpreted method: jmp rcx. Its arguments are on the stack and no frame is
// (gen_c2i_adapter, cpu/x86/sharedRuntime_x86_64.cpp). On 25 it is taken for the interpreter's.
var adapts = form{code: []int{0xff, 0xe1}}

// leaves is compiled code's last instruction where it ends with an exception, its frame taken down: jmp to the stub that looks for a handler; hlt behind it
// fills the room that is left.
var leaves = form{code: []int{0xe9, whatever, whatever, whatever, whatever, 0xf4, 0xf4}}

// unwinds is the last instruction of C1's code of a method, before the stubs of its calls: jmp to the stub that looks for the caller's handler;
// mov rbx, 0; jmp (LIR_Assembler::emit_unwind_handler, CompiledStaticCall::emit_to_interp_stub).
var unwinds = form{code: []int{0xe9, whatever, whatever, whatever, whatever, 0x48, 0xbb, 0, 0, 0, 0, 0, 0, 0, 0, 0xe9}}

// jumpsFar says that compiled code jumps farther than any method is long, or as the last of it: to a stub.
func jumpsFar(code []byte) bool {
	if unwinds.begins(code) {
		return true
	}
	const longest = 1 << 20
	if !(form{code: []int{0xe9, whatever, whatever, whatever, whatever}}).begins(code) {
		return false
	}
	by := int32(binary.LittleEndian.Uint32(code[1:]))
	return by <= -longest || by >= longest
}

// exceptionBlob is the end of the blob that looks for the handler of compiled code's exception (OptoRuntime::generate_exception_blob,
// cpu/x86/runtime_x86_64.cpp): its frame is gone, the exception and its pc are taken from the thread, and it jumps to the handler, in r8.
var exceptionBlob = []form{
	{code: []int{0x5a, 0x4c, 0x8b, 0xc0, 0x49, 0x8b, 0x87}},                                                           // pop rdx; mov r8, rax
	{code: []int{0x4c, 0x8b, 0xc0, 0x49, 0x8b, 0x87}},                                                                 // mov r8, rax; mov rax, [r15+N]
	{code: []int{0x49, 0x8b, 0x87, whatever, whatever, whatever, whatever, 0x49, 0x8b, 0x97}},                         // mov rax, [r15+N]; mov rdx, [r15+N]
	{code: []int{0x49, 0x8b, 0x97, whatever, whatever, whatever, whatever, 0x49, 0xc7, 0x87}},                         // mov rdx, [r15+N]; mov [r15+N], 0
	{code: []int{0x49, 0xc7, 0x87, whatever, whatever, whatever, whatever, 0x00, 0x00, 0x00, 0x00, 0x41, 0xff, 0xe0}}, // mov [r15+N], 0; jmp r8
}

// jumpsAway says that a stub goes on elsewhere, by a register: jmp reg. It has no frame any more.
func jumpsAway(code []byte) bool {
	if len(code) > 0 && code[0] == 0x41 { // r8 to r15
		code = code[1:]
	}
	return len(code) > 1 && code[0] == 0xff && code[1]&^7 == 0xe0
}

// allocates is the beginning of C1's stub for new objects on 8, which pushes two registers, of which the walker does not know, and asks what is left of
// the thread's buffer (Runtime1::generate_code_for, fast_new_instance_id, cpu/x86/c1_Runtime1_x86.cpp; MacroAssembler::tlab_refill).
var allocates = []form{
	{code: []int{0x57, 0x53, 0x49, 0x8b, 0x47}},                                             // push rdi; push rbx; mov rax, [r15+N]: its buffer's top
	{code: []int{0x53, 0x49, 0x8b, 0x47, whatever, 0x49, 0x8b, 0x4f}},                       // push rbx; mov rax, [r15+N]; mov rcx, [r15+N]: its end
	{code: []int{0x49, 0x8b, 0x47, whatever, 0x49, 0x8b, 0x4f, whatever, 0x48, 0x2b, 0xc8}}, // mov rax, [r15+N]; mov rcx, [r15+N]; sub rcx, rax
	{code: []int{0x49, 0x8b, 0x4f, whatever, 0x48, 0x2b, 0xc8, 0x48, 0xc1, 0xe9, 0x03}},     // mov rcx, [r15+N]; sub rcx, rax; shr rcx, 3
	{code: []int{0x48, 0x2b, 0xc8, 0x48, 0xc1, 0xe9, 0x03}},                                 // sub rcx, rax; shr rcx, 3
}

// finalizes is the beginning of C1's stub for the end of Object's constructor, before it has a frame: must the object's class be registered for
// finalization? (Runtime1::generate_code_for, register_finalizer_id, the same file.)
var finalizes = []form{
	{code: []int{0x8b, 0x70, 0x08, 0x48, 0xc1, 0xe6, 0x03, 0x8b, 0xb6}},                                                  // mov esi, [rax+8]; shl rsi, 3; mov esi, [rsi+N]
	{code: []int{0x48, 0xc1, 0xe6, 0x03, 0x8b, 0xb6, whatever, whatever, whatever, whatever, 0xf7, 0xc6, 0, 0, 0, 0x40}}, // shl rsi, 3; mov esi, [rsi+N]; test esi, JVM_ACC_HAS_FINALIZER
	{code: []int{0x8b, 0xb6, whatever, whatever, whatever, whatever, 0xf7, 0xc6, 0, 0, 0, 0x40}},                         // mov esi, [rsi+N]; test
	{code: []int{0xf7, 0xc6, 0, 0, 0, 0x40, 0x0f, 0x85, 0x01, 0, 0, 0, 0xc3}},                                            // test; jne behind it; ret
}

// Instructions that move eight bytes between a register and the stack.
const (
	load  = 0x8b
	store = 0x89
)

// rbpSaved is where pusha saves rbp, as the sixth of sixteen.
const rbpSaved = 0x50

// inARow says that a stub takes registers back that it has saved, or saves them, at least two in a row: mov [rsp+N], reg; mov [rsp+N-8], reg; or takes the
// last one back before their room is given free. Its frame has another size then (MacroAssembler::pusha, popa; RegisterSaver).
func inARow(code []byte, what byte) bool {
	first, length := onStack(code, what)
	if length == 0 {
		return false
	}
	code = code[length:]
	if what == load && len(code) > 2 && code[0] == 0x48 && code[1]&^2 == 0x81 && code[2] == 0xc4 { // add rsp: it was the last one
		return true
	}
	second, length := onStack(code, what)
	apart := max(second-first, first-second)
	return length != 0 && (apart == 8 || apart == 16 && min(first, second) == rbpSaved) // between rbp and rbx is the place of rsp
}

// savesRegisters says that compiled code saves three registers in a row, each below the one before, or the last of them before it passes a reference on:
// SaveLiveRegisters, which has made room for them (cpu/x86/gc/shared/barrierSetAssembler_x86.cpp). What a method itself spills is seldom so.
func savesRegisters(code []byte) bool {
	for below, n := 0, 0; n < 3; n++ {
		offset, length := onStack(code, store)
		if length == 0 {
			rest, passes := passesReference(code)
			_, stores := passesField(code)
			return passes && (n > 0 || len(rest) > 0 && rest[0] == 0xe8) || n > 0 && (stores || passesThread.begins(code)) || passesBoth.begins(code) // call
		}
		if n > 0 && offset != below-8 {
			return false
		}
		below, code = offset, code[length:]
	}
	return true
}

// restoresRegisters says that compiled code takes back what savesRegisters saved: registers, and vectors after them, before their room is given free, or
// three in a row, each above the one before.
func restoresRegisters(code []byte) bool {
	rest, loads, vectors := takesBack(code)
	return loads >= 3 || loads+vectors > 0 && oneOf(freesRoom, rest)
}

// takesBack is what follows the registers that code takes back from the stack, each from above the one before, and the vectors after them, and the numbers
// of both.
func takesBack(code []byte) (rest []byte, loads, vectors int) {
	for at := 0; ; loads++ {
		offset, length := onStack(code, load)
		if length == 0 || loads > 0 && offset != at+8 {
			break
		}
		at, code = offset, code[length:]
	}
	for length := vectorLoad(code); length > 0; length = vectorLoad(code) {
		code, vectors = code[length:], vectors+1
	}
	return code, loads, vectors
}

// passesBoth is mov rdi, reference; mov rsi, r15; call: the slow path of G1's barriers around a store, which passesThread is the end of
// (generate_c2_barrier_runtime_call of 24 and newer, cpu/x86/gc/g1/g1BarrierSetAssembler_x86.cpp).
var (
	passesBoth   = form{code: append([]int{whatever, 0x8b, whatever}, passesThread.code...)}
	passesThread = form{code: []int{0x49, 0x8b, 0xf7, 0xe8}}
)

// passesReference says that code begins with lea rsi, field; mov rdi, reference, the last of which may be cut off: the arguments of ZGC's load barrier
// (ZSetupArguments, cpu/x86/gc/z/zBarrierSetAssembler_x86.cpp). The rest is what follows.
func passesReference(code []byte) (rest []byte, passes bool) {
	const rexW, rexB, rsi = 0x48, 0x01, 6
	length := loadsAddress(code, rsi)
	if length == 0 || len(code) < length+2 || code[length]&^rexB != rexW || code[length+1] != load {
		return nil, false
	}
	code = code[length+2:]
	if len(code) == 0 {
		return nil, true
	}
	return code[1:], code[0]&^0x07 == 0xf8 // rdi
}

// passesField says that code begins with lea rdi, field; call, the last of which may be cut off: ZGC's store barrier, whose call gives nothing
// (ZBarrierSetAssembler::generate_c2_store_barrier_stub, the same file). The rest is what follows.
func passesField(code []byte) (rest []byte, passes bool) {
	const rdi, call = 7, 5
	length := loadsAddress(code, rdi)
	if length == 0 || len(code) <= length || code[length] != 0xe8 {
		return nil, false
	}
	return code[min(length+call, len(code)):], true
}

// passesAddress says the same where a register is taken back at once behind the call.
func passesAddress(code []byte) bool {
	rest, passes := passesField(code)
	_, taken := onStack(rest, load)
	return passes && taken > 0
}

// callsCollector is the call of ZGC's load barrier: it leaves compiled code for the JVM's own, the reference that it gives is moved, and at least two
// registers are taken back, the last of which may be cut off.
func callsCollector(code []byte) bool {
	const call, codeCache = 5, 240 << 20 // ReservedCodeCacheSize: what is farther away is none of its code
	if len(code) < call || code[0] != 0xe8 {
		return false
	}
	by := int32(binary.LittleEndian.Uint32(code[1:]))
	rest, given := movesResult(code[call:])
	rest, loads, _ := takesBack(rest)
	cut := len(rest) > 2 && rest[0]&^4 == 0x48 && rest[1] == load && rest[2]&0xc7 == 0x44 // mov register, [rsp+N]
	return (by <= -codeCache || by >= codeCache) && given && (loads > 1 || loads == 1 && cut)
}

// movesResult says that code begins with mov register, rax. The rest is what follows, or all of it.
func movesResult(code []byte) (rest []byte, moves bool) {
	const rexW, rexR = 0x48, 0x04
	if len(code) < 3 || code[0]&^rexR != rexW || code[1] != load || code[2]&0xc7 != 0xc0 {
		return code, false
	}
	return code[3:], true
}

// loadsAddress is the length of lea register, address, of one of the first eight, with which code begins, 0 when it begins otherwise.
func loadsAddress(code []byte, register byte) int {
	const rexW, rexX, rexB, lea, sib = 0x48, 0x02, 0x01, 0x8d, 4
	if len(code) < 3 || code[0]&^(rexX|rexB) != rexW || code[1] != lea || code[2]>>3&0x07 != register {
		return 0
	}
	length := 3 + map[byte]int{1: 1, 2: 4}[code[2]>>6]
	if code[2]&0x07 == sib {
		length++
	}
	return length
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

// vectorLoad is the length of an instruction that takes a vector register back from the stack, op xmm, [rsp+N] in any of its encodings, or of vzeroupper;
// 0 when code begins with another.
func vectorLoad(code []byte) int {
	if len(code) < 7 {
		return 0
	}
	op := 0
	switch code[0] {
	case 0xc5: // VEX
		op = 2
	case 0xc4:
		op = 3
	case 0x62: // EVEX
		op = 4
	case 0x66, 0xf2, 0xf3:
		op = 2
		if code[1]&^0x0f == 0x40 { // REX
			op = 3
		}
		if code[op-1] != 0x0f {
			return 0
		}
	default:
		return 0
	}
	const zeroUpper, sib, rsp = 0x77, 0x04, 0x24
	if code[0] == 0xc5 && code[op] == zeroUpper {
		return op + 1
	}
	if code[op+1]&0x07 != sib || code[op+2] != rsp {
		return 0
	}
	length := op + 3 + map[byte]int{1: 1, 2: 4}[code[op+1]>>6]
	if length > len(code) {
		return 0
	}
	return length
}
