package x86

import (
	"bytes"
	"slices"
)

// What differs by JDK, as of 2026-11:
//
//	17      the loop that clears a method's locals begins with a long jump
//	21      Thread.currentThread is an intrinsic method without a frame
//	25      the last instruction of an adapter is taken for the interpreter's

// entersMethod is the interpreter's entry of a method, until its frame is set up
// (TemplateInterpreterGenerator::generate_normal_entry and generate_stack_overflow_check): the sizes of parameters and
// locals, is there room for them, and zeros for the locals.
var entersMethod = parse(`
	48 8b 53 ?? 0f b7                   # mov rdx, [rbx+N]: ConstMethod; movzx
	0f b7 4a ?? 0f b7 52                # movzx ecx, [rdx+N]; movzx edx, [rdx+N]
	0f b7 52 ?? 2b d1                   # movzx edx, [rdx+N]; sub edx, ecx
	2b d1 81 fa                         # sub edx, ecx; cmp edx, N
	81 fa ?? ?? 00 00 0f 86             # cmp edx, N; jbe
	0f 86 ?? ?? ?? ?? 48 8b c2          # jbe; mov rax, rdx
	4c 8d 74 cc f8 85 d2                # lea r14, [rsp+rcx*8-8]; test edx, edx
	85 d2 7e ?? 68 00 00 00 00 ff ca    # test edx, edx; jle; push 0; dec edx
	85 d2 0f 8e ?? ?? ?? ?? 68 00 00 00 00   # the same with a long jump: 17
	0f 8e ?? ?? ?? ?? 68 00 00 00 00    # jle; push 0
	7e ?? 68 00 00 00 00 ff ca          # jle; push 0; dec edx
	68 00 00 00 00 ff ca 7f             # push 0; dec edx; jg
	ff ca 7f ?? 50 55                   # dec edx; jg; push rax; push rbp

	# A native method's (generate_native_entry) has two zeros and no loop. Its last push is followed by what setsUpMethod looks for.
	48 8b 4b ?? 0f b7 49                # mov rcx, [rbx+N]: ConstMethod; movzx
	0f b7 49 ?? 58 4c 8d 74 cc f8       # movzx ecx, [rcx+N]; pop rax; lea r14, [rsp+rcx*8-8]
	58 4c 8d 74 cc f8                   # pop rax; lea r14, [rsp+rcx*8-8]
	4c 8d 74 cc f8 68 00 00 00 00 68 00 00 00 00   # lea r14, [rsp+rcx*8-8]; push 0; push 0
`)

// setsUpMethod reports whether the entry of a method ends within the code: with push rax, the return address again,
// behind the locals; push rbp; mov rbp, rsp.
func setsUpMethod(code []byte) bool {
	return bytes.Contains(code, []byte{0x50, 0x55, 0x48, 0x8b, 0xec})
}

// leavesMethod is the end of InterpreterMacroAssembler::remove_activation, which has left the frame: the return address
// is popped (into r13, or rdx when an exception is thrown), the caller's stack pointer taken back, the reserved pages
// looked after, and it jumps back.
//
// An adapter, in which compiled code calls an interpreted method, ends with jmp rcx too: its arguments are on the stack
// and no frame is (gen_c2i_adapter, cpu/x86/sharedRuntime_x86_64.cpp).
var leavesMethod = slices.Concat(parse(`
	41 5d 48 8b e3                          # pop r13; mov rsp, rbx
	5a 48 8b e3                             # pop rdx; mov rsp, rbx
	41 c6 87 ?? ?? ?? ?? 00 41 5d           # mov byte [r15+N], 0; pop r13
	41 c6 87 ?? ?? ?? ?? 00 5a              # mov byte [r15+N], 0; pop rdx
	48 8b e3 41 ff e5                       # mov rsp, rbx; jmp r13
	48 8b e3 49 3b a7                       # mov rsp, rbx; cmp rsp, [r15+N]
	72 ?? 49 c7 87 ?? ?? ?? ?? 00 00 00 00  # jb; mov [r15+N], 0
	49 c7 87 ?? ?? ?? ?? 00 00 00 00 41 ff e5   # mov [r15+N], 0; jmp r13
	41 ff e5                                # jmp r13

	# An intrinsic method has no frame at all (generate_currentThread, 21; generate_math_entry and others).
	59 49 8b e5 ff e1                       # pop rcx; mov rsp, r13; jmp rcx
	49 8b e5 ff e1                          # mov rsp, r13; jmp rcx
	ff e1                                   # jmp rcx, and the end of an adapter (see above)
	5f 49 8b e5 ff e7                       # pop rdi; mov rsp, r13; jmp rdi
	49 8b e5 ff e7                          # mov rsp, r13; jmp rdi
	ff e7                                   # jmp rdi

	# An exception that the caller gets: the exception and where it came from are kept over the call that looks for its
	# handler.
	49 c7 87 ?? ?? ?? ?? 00 00 00 00 50 52  # mov [r15+N], 0; push rax; push rdx
	50 52 48 8b f2 49 8b ff                 # push rax; push rdx; mov rsi, rdx; mov rdi, r15
	52 48 8b f2 49 8b ff                    # push rdx; mov rsi, rdx; mov rdi, r15
	5a 58 ff e3                             # pop rdx; pop rax; jmp rbx
	58 ff e3                                # pop rax; jmp rbx
	ff e3                                   # jmp rbx
`), rethrows)

// rethrows is where the interpreter resumes behind its call that looks for the handler of an exception, its frame
// removed (rethrow_exception_entry, TemplateInterpreterGenerator::generate_throw_exception): mov rbx, rax; pop rdx; pop
// rax; jmp rbx.
var rethrows = parse("48 8b d8 5a 58 ff e3")
