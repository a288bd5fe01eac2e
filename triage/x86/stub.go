package x86

// endsExceptionBlob is the end of the blob that looks for the handler of compiled code's exception
// (OptoRuntime::generate_exception_blob, cpu/x86/runtime_x86_64.cpp): its frame is gone, the exception and its pc are
// taken from the thread, and it jumps to the handler, in r8.
var endsExceptionBlob = parse(`
	5a 4c 8b c0 49 8b 87                        # pop rdx; mov r8, rax
	4c 8b c0 49 8b 87                           # mov r8, rax; mov rax, [r15+N]
	49 8b 87 ?? ?? ?? ?? 49 8b 97               # mov rax, [r15+N]; mov rdx, [r15+N]
	49 8b 97 ?? ?? ?? ?? 49 c7 87               # mov rdx, [r15+N]; mov [r15+N], 0
	49 c7 87 ?? ?? ?? ?? 00 00 00 00 41 ff e0   # mov [r15+N], 0; jmp r8
`)

// jumpsAway reports whether a stub continues elsewhere, by a register: jmp reg. It has no frame any more.
func jumpsAway(code []byte) bool {
	if len(code) > 0 && code[0] == 0x41 { // r8 to r15
		code = code[1:]
	}
	return len(code) > 1 && code[0] == 0xff && code[1]&^7 == 0xe0
}

// allocates is the beginning of C1's stub for new objects on 8, which pushes two registers, of which the walker does
// not know, and asks what is left of the thread's buffer (Runtime1::generate_code_for, fast_new_instance_id,
// cpu/x86/c1_Runtime1_x86.cpp; MacroAssembler::tlab_refill).
var allocates = parse(`
	57 53 49 8b 47                      # push rdi; push rbx; mov rax, [r15+N]: its buffer's top
	53 49 8b 47 ?? 49 8b 4f             # push rbx; mov rax, [r15+N]; mov rcx, [r15+N]: its end
	49 8b 47 ?? 49 8b 4f ?? 48 2b c8    # mov rax, [r15+N]; mov rcx, [r15+N]; sub rcx, rax
	49 8b 4f ?? 48 2b c8 48 c1 e9 03    # mov rcx, [r15+N]; sub rcx, rax; shr rcx, 3
	48 2b c8 48 c1 e9 03                # sub rcx, rax; shr rcx, 3
`)

// finalizes is the beginning of C1's stub for the end of Object's constructor, before it has a frame: must the object's
// class be registered for finalization? (Runtime1::generate_code_for, register_finalizer_id, the same file.)
var finalizes = parse(`
	8b 70 08 48 c1 e6 03 8b b6                        # mov esi, [rax+8]; shl rsi, 3; mov esi, [rsi+N]
	48 c1 e6 03 8b b6 ?? ?? ?? ?? f7 c6 00 00 00 40   # shl rsi, 3; mov esi, [rsi+N]; test esi, JVM_ACC_HAS_FINALIZER
	8b b6 ?? ?? ?? ?? f7 c6 00 00 00 40               # mov esi, [rsi+N]; test
	f7 c6 00 00 00 40 0f 85 01 00 00 00 c3            # test; jne behind it; ret
`)

// rbpSaved is where pusha saves rbp, as the sixth of sixteen.
const rbpSaved = 0x50

// restoresAll and savesAll report whether a stub takes back registers that it has saved, or saves them.
func restoresAll(code []byte) bool { return inARow(code, load) }

func savesAll(code []byte) bool { return inARow(code, store) }

// inARow reports whether code moves at least two registers in a row: mov [rsp+N], reg; mov [rsp+N-8], reg; or takes the
// last one back before their room is given free. A stub's frame has another size then (MacroAssembler::pusha, popa;
// RegisterSaver).
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
