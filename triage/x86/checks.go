package x86

import "bytes"

// Code that the compilers emit around a check, with words on the stack that the walker does not know about. What differs by JDK, as
// of 2026-11:
//
//	8       super_check_offset at 12, the cache of the other supertypes at 24; later 20 and 32
//	25      a popped register is compared with zero by test, before by cmp
//	26      the patterns of super_check_offset 20 that begin with je
//	27, 28  super_check_offset at 16

// popsWords reports whether one or two words are popped, the last one into a register which is then compared with zero, now or
// after a call.
func popsWords(code []byte) bool {
	if call.begin(code) {
		code = code[len(call[0]):]
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
	compare, test := []byte{0x83, cmp | last&7, 0}, []byte{0x85, 0xc0 | last&7<<3 | last&7}
	if last >= 8 {
		compare, test = append([]byte{rexB}, compare...), append([]byte{rexB | rexR}, test...)
	}
	return bytes.HasPrefix(code, compare) || bytes.HasPrefix(code, test)
}

// searchesString is C2's search where the rest of the string is too short for what it has found the beginning of,
// before it takes the candidate's address. The search that keeps nothing on the stack has the same code but for that
// address.
var searchesString = parse(`
	3b d0 7d 0a bb ff ff ff ff e9 ?? ?? ?? ?? 48 8d   # cmp edx, eax; jge behind it; mov ebx, -1; jmp; lea
	7d 0a bb ff ff ff ff e9 ?? ?? ?? ?? 48 8d         # jge behind it; mov ebx, -1; jmp; lea
`)

// checksSubtype is the beginning of a subtype check: is it the class itself, and what do its first supertypes say
// (check_klass_subtype_fast_path, cpu/x86/macroAssembler_x86.cpp).
var checksSubtype = parse(`
	?? 3b ?? 0f 84 ?? ?? ?? ?? 8b ?? 0c            # cmp; je; mov r, [super+12]: 8
	?? 3b ?? 0f 84 ?? ?? ?? ?? 8b ?? 10 48 3b      # cmp; je; mov r, [super+16]; cmp: 28
	?? 3b ?? 0f 84 ?? ?? ?? ?? 8b ?? 14            # cmp; je; mov r, [super+20]
	?? 3b ?? 0f 84 ?? ?? ?? ?? ?? 8b ?? 0c         # cmp; je; mov r, [super+12]: 8
	?? 3b ?? 0f 84 ?? ?? ?? ?? ?? 8b ?? 10 ?? 3b   # cmp; je; mov r, [super+16]; cmp: 28
	?? 3b ?? 0f 84 ?? ?? ?? ?? ?? 8b ?? 14         # cmp; je; mov r, [super+20]
	?? 3b ?? ?? 0f 84 ?? ?? ?? ?? 83 ?? 18         # cmp r, [class+r]
	?? 3b ?? ?? 0f 84 ?? ?? ?? ?? 83 ?? 20         # cmp r, [class+r]
	0f 84 ?? ?? ?? ?? 8b ?? 10 48 3b               # je; mov r, [super+16]; cmp: 27
	0f 84 ?? ?? ?? ?? 8b ?? 14 48 3b               # je; mov r, [super+20]; cmp: 26
	0f 84 ?? ?? ?? ?? 83 ?? 18 0f 85               # je; cmp r, 24: is it the cache?; jne: 8
	0f 84 ?? ?? ?? ?? 83 ?? 20 0f 85               # je; cmp r, 32; jne
	0f 84 ?? ?? ?? ?? ?? 83 ?? 18 0f 85            # the same with a register from r8 on: 8
	0f 84 ?? ?? ?? ?? ?? 83 ?? 20 0f 85            # the same with a register from r8 on
`)

// checksArrays reports whether C1's System.arraycopy asks whether the one array's class is a subtype of the other's,
// both arrays pushed (emit_arraycopy, c1_LIRAssembler_x86.cpp). Elsewhere it asks the same without pushing anything
// before.
func checksArrays(code []byte) bool {
	return checksSubtype.begin(code) || decodesClass(code) || popsArrays(code)
}

// decodesClass reports whether code takes an array's class from it, or continues with that: at least two instructions
// in a row that load the reference, or the header that holds it, shift it, add it to the base of all classes, or
// compare it (MacroAssembler::load_klass, decode_klass_not_null). The second array's push may stand before them.
func decodesClass(code []byte) bool {
	const push = 0x50
	if len(code) > 0 && code[0]&^7 == push {
		code = code[1:]
	}
	first := classStep(code)
	return first > 0 && first < len(code) && classStep(code[first:]) > 0
}

// classStep returns the length of the instruction of decodesClass that code begins with, 0 when it is none.
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

// answered is what C1 does with the answer to whether an array may be copied to another, both still pushed: cmp r, 0;
// jne; pop; pop.
var answered = parse("83 ?? 00 0f 85 ?? ?? ?? ??")

// popsArrays reports whether the arrays are popped, or the last of them is, behind the check that lets them be copied
// as they are: pop; pop; lea. Or whether both will be, as they may not.
func popsArrays(code []byte) bool {
	const pop = 0x58
	if answered.begin(code) {
		code = code[len(answered[0]):]
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
