package x86

import (
	"bytes"
	"encoding/binary"
)

// What differs by JDK, as of 2026-11; the patterns below that no line names are the same on all:
//
//	8       return poll test [rip+N], eax
//	11      return poll by the thread's page, mov r10, [r15+N]; 8 and 11 share its test [r10], eax
//	25      return poll with a short offset, cmp rsp, [r15+N]; a native method's with a je
//	26      a stub pushes rbx before rbp
//	27      a native method's return poll, test byte [r15+N], 1

// frameBegins is code whose frame is not set up: HotSpot's compilers emit it in MachPrologNode (x86_64.ad) and in C1's
// build_frame, C compilers in a function's first instructions.
var frameBegins = parse(`
	f3 0f 1e fa      # endbr64: a C function's first
	89 84 24         # mov [rsp-N], eax: stack bang
	55               # push rbp
	53 55 48 8b ec   # push rbx; push rbp; mov rbp, rsp: a stub's, 26
	48 81 ec         # sub rsp, imm32
	52 48 83 ec      # push rdx; sub rsp, imm8: OptoRuntime's exception blob
	48 89 6c 24      # mov [rsp+N], rbp
	48 8b ec         # mov rbp, rsp
	48 89 e5         # mov rbp, rsp
`)

// frameEnds is code whose frame is taken down, or about to be (MachEpilogNode, C1's remove_frame).
var frameEnds = parse(`
	48 81 c4                                       # add rsp, imm32
	5d                                             # pop rbp
	c9                                             # leave
	c3                                             # ret
	c2                                             # ret imm16
	48 8b c2 c3                                    # mov rax, rdx; ret: a stub's
	0f 85 01 00 00 00 c3                           # jne behind it; ret: a native method's wrapper, when nothing was thrown
	49 81 7f ?? 00 00 00 00 0f 85 01 00 00 00 c3   # cmp [r15+N], 0 before it: was anything thrown?
	49 3b a7                                       # cmp rsp, [r15+N]: return poll
	49 3b 67                                       # the same with a short offset: 25
	41 f6 47 ?? 01 74 ?? 49 ba                     # test byte [r15+N], 1; je; mov r10, this pc: a native method's return poll, 27
	74 ?? 49 ba ?? ?? ?? ?? ?? ?? 00 00 4d 89 97   # its je; mov r10; mov [r15+N], r10: 25
	4d 8b 97 ?? ?? ?? ?? 41 85 02 c3               # mov r10, [r15+N]; test [r10], eax; ret: 11
	41 85 02                                       # test [r10], eax: return poll of 8 and 11
	85 05 ?? ?? ?? ?? c3                           # test [rip+N], eax; ret: 8
	0f 87 ?? ?? ?? ?? c3                           # ja: to the return poll's stub; ret
	0f 82 ?? ?? ?? ?? 49 8b ff                     # jb; mov rdi, r15: MacroAssembler::reserved_stack_check
`)

// smallFrameBegins and smallFrameEnds are sub and add rsp, imm8. The interpreter's templates make room on the stack for
// a value by the same instructions.
var (
	smallFrameBegins = parse("48 83 ec")
	smallFrameEnds   = parse("48 83 c4")
)

// setsUpFrame reports whether a C function's frame pointer is set further on: until then it is another frame's.
func setsUpFrame(code []byte) bool {
	at := bytes.Index(code, []byte{0x48, 0x89, 0xe5}) // mov rbp, rsp
	return at >= 0 && bytes.IndexByte(code[:at], 0xc3) < 0
}

// leavesForStub is compiled code's last instruction where it ends with an exception, its frame taken down: jmp to the
// stub that looks for a handler; hlt behind it fills the room that is left.
var leavesForStub = parse("e9 ?? ?? ?? ?? f4 f4")

// unwinds is the last instruction of C1's code of a method, before the stubs of its calls: jmp to the stub that looks
// for the caller's handler; mov rbx, 0; jmp (LIR_Assembler::emit_unwind_handler,
// CompiledStaticCall::emit_to_interp_stub).
var unwinds = parse("e9 ?? ?? ?? ?? 48 bb 00 00 00 00 00 00 00 00 e9")

var jump = parse("e9 ?? ?? ?? ??")

// jumpsFar reports whether compiled code jumps farther than any method is long, or as the last of it: to a stub.
func jumpsFar(code []byte) bool {
	if unwinds.begin(code) {
		return true
	}
	const longest = 1 << 20
	if !jump.begin(code) {
		return false
	}
	by := int32(binary.LittleEndian.Uint32(code[1:]))
	return by <= -longest || by >= longest
}
