package x86

import "encoding/binary"

// The slow paths of the collectors' barriers in compiled code. What differs by JDK, as of 2026-11:
//
//	21      ZGC's call pops r11 and r10 behind it
//	24      G1's barriers around a store have a slow path in C2's code

// savesRegisters reports whether compiled code saves three registers in a row, each below the one before, or the last
// of them before it passes a reference on: SaveLiveRegisters, which has made room for them
// (cpu/x86/gc/shared/barrierSetAssembler_x86.cpp). What a method itself spills is seldom so.
func savesRegisters(code []byte) bool {
	for below, n := 0, 0; n < 3; n++ {
		offset, length := onStack(code, store)
		if length == 0 {
			rest, passes := passesReference(code)
			_, stores := passesField(code)
			passes = passes && (n > 0 || len(rest) > 0 && rest[0] == callCode)
			return passes || n > 0 && (stores || passesThread.begin(code)) || passesBoth.begin(code)
		}
		if n > 0 && offset != below-8 {
			return false
		}
		below, code = offset, code[length:]
	}
	return true
}

// restoresRegisters reports whether compiled code takes back what savesRegisters saved: registers, and vectors after
// them, before their room is given free, or three in a row, each above the one before.
func restoresRegisters(code []byte) bool {
	rest, loads, vectors := takesBack(code)
	return loads >= 3 || loads+vectors > 0 && freesRoom.begin(rest)
}

// resumesBarrier reports whether C code returns to compiled code that takes registers back from the stack, gives their
// room free, and jumps back to where it came from, or pops the others: in a method handle's linker. An epilogue
// continues otherwise.
func resumesBarrier(code []byte) bool {
	code, _ = movesResult(code) // ZGC's call returns the reference
	code, loads, vectors := takesBack(code)
	return (loads > 0 || vectors == 0) && freesRoom.begin(code) || vectors > 0 && popsRegisters.begin(code)
}

// freesRoom is add rsp, N; jmp.
var freesRoom = parse(`
	48 83 c4 ?? e9
	48 83 c4 ?? eb
	48 81 c4 ?? ?? ?? ?? e9
	48 81 c4 ?? ?? ?? ?? eb
`)

// popsRegisters is add rsp, N; pop r11; pop r10: ZBarrierSetAssembler::load_at of 21 and newer
// (cpu/x86/gc/z/zBarrierSetAssembler_x86.cpp).
var popsRegisters = parse(`
	48 83 c4 ?? 41 5b 41 5a
	48 81 c4 ?? ?? ?? ?? 41 5b 41 5a
`)

// passesBoth is mov rdi, reference; mov rsi, r15; call: the slow path of G1's barriers around a store, which
// passesThread is the end of (generate_c2_barrier_runtime_call of 24 and newer,
// cpu/x86/gc/g1/g1BarrierSetAssembler_x86.cpp).
var (
	passesBoth   = parse("?? 8b ?? 49 8b f7 e8")
	passesThread = parse("49 8b f7 e8")
)

// passesReference reports whether code begins with lea rsi, field; mov rdi, reference, the last of which may be cut
// off: the arguments of ZGC's load barrier (ZSetupArguments, cpu/x86/gc/z/zBarrierSetAssembler_x86.cpp). The rest is
// what follows.
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

// passesField reports whether code begins with lea rdi, field; call, the last of which may be cut off: ZGC's store
// barrier, whose call returns nothing (ZBarrierSetAssembler::generate_c2_store_barrier_stub, the same file). The rest
// is what follows.
func passesField(code []byte) (rest []byte, passes bool) {
	const rdi = 7
	length := loadsAddress(code, rdi)
	if length == 0 || len(code) <= length || code[length] != callCode {
		return nil, false
	}
	return code[min(length+callLength, len(code)):], true
}

// passesAddress reports the same where a register is taken back at once behind the call.
func passesAddress(code []byte) bool {
	rest, passes := passesField(code)
	_, taken := onStack(rest, load)
	return passes && taken > 0
}

// callsCollector reports whether code is the call of ZGC's load barrier: it leaves compiled code for the JVM's own, the
// reference that it returns is moved, and at least two registers are taken back, the last of which may be cut off.
func callsCollector(code []byte) bool {
	const codeCache = 240 << 20 // ReservedCodeCacheSize: what is farther away is none of its code
	if !call.begin(code) {
		return false
	}
	by := int32(binary.LittleEndian.Uint32(code[1:]))
	rest, given := movesResult(code[callLength:])
	rest, loads, _ := takesBack(rest)
	cut := len(rest) > 2 && rest[0]&^4 == 0x48 && rest[1] == load && rest[2]&0xc7 == 0x44 // mov register, [rsp+N]
	return (by <= -codeCache || by >= codeCache) && given && (loads > 1 || loads == 1 && cut)
}
