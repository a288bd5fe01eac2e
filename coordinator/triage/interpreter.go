package triage

import "bytes"

// methodEntry is the interpreter's entry of a method, until its frame is set up (TemplateInterpreterGenerator::generate_normal_entry and
// generate_stack_overflow_check): the sizes of parameters and locals, is there room for them, and zeros for the locals.
var methodEntry = []form{
	{code: []int{0x48, 0x8b, 0x53, whatever, 0x0f, 0xb7}},                                                       // mov rdx, [rbx+N]: ConstMethod; movzx
	{code: []int{0x0f, 0xb7, 0x4a, whatever, 0x0f, 0xb7, 0x52}},                                                 // movzx ecx, [rdx+N]; movzx edx, [rdx+N]
	{code: []int{0x0f, 0xb7, 0x52, whatever, 0x2b, 0xd1}},                                                       // movzx edx, [rdx+N]; sub edx, ecx
	{code: []int{0x2b, 0xd1, 0x81, 0xfa}},                                                                       // sub edx, ecx; cmp edx, N
	{code: []int{0x81, 0xfa, whatever, whatever, 0x00, 0x00, 0x0f, 0x86}},                                       // cmp edx, N; jbe
	{code: []int{0x0f, 0x86, whatever, whatever, whatever, whatever, 0x48, 0x8b, 0xc2}},                         // jbe; mov rax, rdx
	{code: []int{0x4c, 0x8d, 0x74, 0xcc, 0xf8, 0x85, 0xd2}},                                                     // lea r14, [rsp+rcx*8-8]; test edx, edx
	{code: []int{0x85, 0xd2, 0x7e, whatever, 0x68, 0x00, 0x00, 0x00, 0x00, 0xff, 0xca}},                         // test edx, edx; jle; push 0; dec edx
	{code: []int{0x85, 0xd2, 0x0f, 0x8e, whatever, whatever, whatever, whatever, 0x68, 0x00, 0x00, 0x00, 0x00}}, // the same with a long jump: 17
	{code: []int{0x0f, 0x8e, whatever, whatever, whatever, whatever, 0x68, 0x00, 0x00, 0x00, 0x00}},             // jle; push 0
	{code: []int{0x7e, whatever, 0x68, 0x00, 0x00, 0x00, 0x00, 0xff, 0xca}},                                     // jle; push 0; dec edx
	{code: []int{0x68, 0x00, 0x00, 0x00, 0x00, 0xff, 0xca, 0x7f}},                                               // push 0; dec edx; jg
	{code: []int{0xff, 0xca, 0x7f, whatever, 0x50, 0x55}},                                                       // dec edx; jg; push rax; push rbp
	// A native method's (generate_native_entry) has two zeros and no loop. Its last push is followed by what entersMethod looks for.
	{code: []int{0x48, 0x8b, 0x4b, whatever, 0x0f, 0xb7, 0x49}},                     // mov rcx, [rbx+N]: ConstMethod; movzx
	{code: []int{0x0f, 0xb7, 0x49, whatever, 0x58, 0x4c, 0x8d, 0x74, 0xcc, 0xf8}},   // movzx ecx, [rcx+N]; pop rax; lea r14, [rsp+rcx*8-8]
	{code: []int{0x58, 0x4c, 0x8d, 0x74, 0xcc, 0xf8}},                               // pop rax; lea r14, [rsp+rcx*8-8]
	{code: []int{0x4c, 0x8d, 0x74, 0xcc, 0xf8, 0x68, 0, 0, 0, 0, 0x68, 0, 0, 0, 0}}, // lea r14, [rsp+rcx*8-8]; push 0; push 0
}

// leavesMethod is the end of InterpreterMacroAssembler::remove_activation, which has left the frame: the return address is popped (into r13, or rdx
// when an exception is thrown), the caller's stack pointer taken back, the reserved pages looked after, and it jumps back.
var leavesMethod = []form{
	{code: []int{0x41, 0x5d, 0x48, 0x8b, 0xe3}},                                                                       // pop r13; mov rsp, rbx
	{code: []int{0x5a, 0x48, 0x8b, 0xe3}},                                                                             // pop rdx; mov rsp, rbx
	{code: []int{0x41, 0xc6, 0x87, whatever, whatever, whatever, whatever, 0x00, 0x41, 0x5d}},                         // mov byte [r15+N], 0; pop r13
	{code: []int{0x41, 0xc6, 0x87, whatever, whatever, whatever, whatever, 0x00, 0x5a}},                               // mov byte [r15+N], 0; pop rdx
	{code: []int{0x48, 0x8b, 0xe3, 0x41, 0xff, 0xe5}},                                                                 // mov rsp, rbx; jmp r13
	{code: []int{0x48, 0x8b, 0xe3, 0x49, 0x3b, 0xa7}},                                                                 // mov rsp, rbx; cmp rsp, [r15+N]
	{code: []int{0x72, whatever, 0x49, 0xc7, 0x87, whatever, whatever, whatever, whatever, 0x00, 0x00, 0x00, 0x00}},   // jb; mov [r15+N], 0
	{code: []int{0x49, 0xc7, 0x87, whatever, whatever, whatever, whatever, 0x00, 0x00, 0x00, 0x00, 0x41, 0xff, 0xe5}}, // mov [r15+N], 0; jmp r13
	{code: []int{0x41, 0xff, 0xe5}},                                                                                   // jmp r13
	// An intrinsic method has no frame at all (generate_currentThread, 21; generate_math_entry and others): mov rsp, r13; jmp rcx or rdi.
	{code: []int{0x59, 0x49, 0x8b, 0xe5, 0xff, 0xe1}},
	{code: []int{0x49, 0x8b, 0xe5, 0xff, 0xe1}},
	{code: []int{0xff, 0xe1}},
	{code: []int{0x5f, 0x49, 0x8b, 0xe5, 0xff, 0xe7}},
	{code: []int{0x49, 0x8b, 0xe5, 0xff, 0xe7}},
	{code: []int{0xff, 0xe7}},
	// An exception that goes on to the caller: the exception and where it came from are kept over the call that looks for its handler.
	{code: []int{0x49, 0xc7, 0x87, whatever, whatever, whatever, whatever, 0x00, 0x00, 0x00, 0x00, 0x50, 0x52}}, // mov [r15+N], 0; push rax; push rdx
	{code: []int{0x50, 0x52, 0x48, 0x8b, 0xf2, 0x49, 0x8b, 0xff}},                                               // push rax; push rdx; mov rsi, rdx; mov rdi, r15
	{code: []int{0x52, 0x48, 0x8b, 0xf2, 0x49, 0x8b, 0xff}},                                                     // push rdx; mov rsi, rdx; mov rdi, r15
	rethrown,
	{code: rethrown.code[3:]}, // pop rdx; pop rax; jmp rbx
	{code: rethrown.code[4:]},
	{code: rethrown.code[5:]},
}

// rethrown is where the interpreter goes on behind its call that looks for the handler of an exception, its frame removed (rethrow_exception_entry,
// TemplateInterpreterGenerator::generate_throw_exception): mov rbx, rax; pop rdx; pop rax; jmp rbx.
var rethrown = form{code: []int{0x48, 0x8b, 0xd8, 0x5a, 0x58, 0xff, 0xe3}}

// entersMethod says that the interpreter begins a method whose frame is not there yet. It ends with push rax, the return address again, behind the
// locals; push rbp; mov rbp, rsp.
func entersMethod(code []byte) bool {
	return oneOf(methodEntry, code) || bytes.Contains(code, []byte{0x50, 0x55, 0x48, 0x8b, 0xec})
}
