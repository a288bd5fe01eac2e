package x86

// Decoding of single instructions, as far as the rest of this package needs it.

// Instructions that move eight bytes between a register and the stack.
const (
	load  = 0x8b
	store = 0x89
)

// call is a call of a fixed address.
var call = parse("e8 ?? ?? ?? ??")

const callCode, callLength = 0xe8, 5

// takesBack returns the numbers of registers, each from above the one before, and of vectors after them that code restores from the
// stack, and the code that follows.
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

// movesResult reports whether code begins with mov register, rax. The rest is what follows, or all of the code.
func movesResult(code []byte) (rest []byte, moves bool) {
	const rexW, rexR = 0x48, 0x04
	if len(code) < 3 || code[0]&^rexR != rexW || code[1] != load || code[2]&0xc7 != 0xc0 {
		return code, false
	}
	return code[3:], true
}

// loadsAddress returns the length of lea register, address, of one of the first eight registers, with which code begins; 0 when it
// begins otherwise.
func loadsAddress(code []byte, register byte) int {
	const rexW, rexX, rexB, lea, sib = 0x48, 0x02, 0x01, 0x8d, 4
	if len(code) < 3 || code[0]&^(rexX|rexB) != rexW || code[1] != lea || code[2]>>3&0x07 != register {
		return 0
	}
	length := 3 + displacement(code[2])
	if code[2]&0x07 == sib {
		length++
	}
	return length
}

// displacement returns the number of bytes of an operand's displacement, by its ModRM byte.
func displacement(modRM byte) int {
	switch modRM >> 6 {
	case 1:
		return 1
	case 2:
		return 4
	}
	return 0
}

// onStack returns the offset from rsp of the load or store that code begins with, and the instruction's length; 0 when it is
// another instruction.
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

// vectorLoad returns the length of an instruction that restores a vector register from the stack, op xmm, [rsp+N] in any
// of its encodings, or of vzeroupper; 0 when code begins with another.
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
	length := op + 3 + displacement(code[op+1])
	if length > len(code) {
		return 0
	}
	return length
}
