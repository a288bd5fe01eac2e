package classes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"misstep/agent"
)

// Opcodes (JVMS 6.5).
const (
	opLdc             = 18
	opLdc2W           = 20
	opIload           = 21
	opIaload          = 46
	opCaload          = 52
	opSaload          = 53
	opIastore         = 79
	opSastore         = 86
	opIdiv            = 108
	opLdiv            = 109
	opIrem            = 112
	opLrem            = 113
	opIinc            = 132
	opIfeq            = 153
	opIfAcmpeq        = 165
	opIfAcmpne        = 166
	opJsr             = 168
	opRet             = 169
	opTableswitch     = 170
	opLookupswitch    = 171
	opIreturn         = 172
	opReturn          = 177
	opGetstatic       = 178
	opPutstatic       = 179
	opInvokevirtual   = 182
	opInvokestatic    = 184
	opInvokedynamic   = 186
	opNew             = 187
	opMonitorexit     = 195
	opWide            = 196
	opMultianewarray  = 197
	opIfnull          = 198
	opIfnonnull       = 199
	opGotoW           = 200
	opJsrW            = 201
	alignment         = 4 // of a switch's operands
	mostSwitchEntries = 1 << 16
)

// lengths of the instructions by opcode, 0 for variable ones and for those that are none of a class file (JVMS 6.5).
var lengths = func() (l [256]uint8) {
	for i := range opJsrW + 1 {
		l[i] = 1
	}
	for length, ranges := range map[uint8][][2]uint8{
		2: {{16, 16}, {18, 18}, {21, 25}, {54, 58}, {opRet, opRet}, {188, 188}},
		3: {
			{17, 17},
			{19, 20},
			{opIinc, opIinc},
			{opIfeq, opJsr},
			{178, 184},
			{opNew, opNew},
			{189, 189},
			{192, 193},
			{opIfnull, opIfnonnull},
		},
		4: {{opMultianewarray, opMultianewarray}},
		5: {{185, 186}, {opGotoW, opJsrW}},
		0: {{opTableswitch, opLookupswitch}, {opWide, opWide}},
	} {
		for _, r := range ranges {
			for op := int(r[0]); op <= int(r[1]); op++ {
				l[op] = length
			}
		}
	}
	return l
}()

// interesting reports whether a frame at an instruction can stand below another one: it may call, resolve, throw or return.
func interesting(op uint8) bool {
	in := func(from, to uint8) bool { return op >= from && op <= to }
	return in(opLdc, opLdc2W) || in(opIaload, opSaload) || in(opIastore, opSastore) || op == opIdiv || op == opLdiv ||
		op == opIrem || op == opLrem || in(opIfAcmpeq, opIfAcmpne) || in(opIreturn, opMonitorexit) || op == opMultianewarray
}

// occasionsAt returns what the VM may do at an instruction that can stand below a frame. The method is that which an invoke names.
func occasionsAt(op uint8, c call) agent.Occasions {
	if op == opIfAcmpeq || op == opIfAcmpne {
		return agent.Comparing // InterpreterRuntime::is_substitutable, 28
	}
	invoke := op >= opInvokevirtual && op <= opInvokedynamic
	at := agent.Resolving // catch types are resolved by whatever throws, and each may (JVMS 2.10 and 6.5)
	// JVMS 5.5. C2 has Unsafe.allocateInstance without a frame of its own (LibraryCallKit::inline_unsafe_allocate).
	if op == opNew || op == opGetstatic || op == opPutstatic || op == opInvokestatic ||
		op == opInvokevirtual && c.name == "allocateInstance" && isUnsafe(c.owner) {
		at |= agent.Initialising
	}
	if op >= opLdc && op <= opLdc2W || invoke {
		at |= agent.Linking
	}
	// At the return of Object.<init>, and where compiled code allocates.
	if op >= opIreturn && op <= opReturn || op == opNew || invoke {
		at |= agent.Finalising
	}
	return at
}

var errCode = errors.New("the instruction does not end in the code, or is none")

// codeReader lists the sites of a class's methods, whose targets they share.
type codeReader struct {
	self    string
	pool    *pool
	targets []agent.SiteTarget
	numbers map[uint16]int32 // of targets, by constant
}

// sites returns the instructions of a method at which a frame can stand below another one, by bytecode index.
func (r *codeReader) sites(code []byte) ([]agent.Site, error) {
	if len(code) > math.MaxUint16 { // JVMS 4.7.3
		return nil, fmt.Errorf("the code has %d bytes; the limit is %d", len(code), math.MaxUint16)
	}
	sites := map[int]agent.Site{0: {Occasions: agent.Compiling, Target: -1}}
	site := func(bci int) agent.Site {
		if s, ok := sites[bci]; ok {
			return s
		}
		return agent.Site{BCI: uint16(bci), Target: -1}
	}
	for bci := 0; bci < len(code); {
		op := code[bci]
		length, branch, back := instruction(code, bci)
		if length == 0 || length > len(code)-bci {
			return nil, fmt.Errorf("bytecode index %d: %w", bci, errCode)
		}
		// The interpreter makes one of both and throws for the array at the index of the first (TemplateTable::fast_icaload).
		fused := op == opIload && bci+2 < len(code) && code[bci+2] == opCaload
		if back || fused || interesting(op) {
			s, err := r.site(site(bci), code, bci)
			if err != nil {
				return nil, fmt.Errorf("bytecode index %d: %w", bci, err)
			}
			if back {
				s.Occasions |= agent.Compiling
			}
			sites[bci] = s
		}
		if back { // where the interpreter asks for the compilation, the branch was taken (TemplateTable::branch)
			to := max(bci+branch, 0)
			s := site(to)
			s.Occasions |= agent.Compiling
			sites[to] = s
		}
		bci += length
	}
	list := make([]agent.Site, 0, len(sites))
	for _, bci := range slices.Sorted(maps.Keys(sites)) {
		list = append(list, sites[bci])
	}
	return list, nil
}

// instruction returns the length of an instruction, 0 for a malformed one, and whether it may branch back, with the lowest offset.
// Of a return from a subroutine that is not known.
func instruction(code []byte, bci int) (length, branch int, back bool) {
	op := code[bci]
	length = int(lengths[op])
	switch {
	case op == opTableswitch || op == opLookupswitch:
		length, branch = switchAt(code, bci)
		return length, branch, length > 0 && branch <= 0
	case op == opWide:
		if bci+1 >= len(code) {
			return 0, 0, false
		}
		if code[bci+1] == opIinc {
			return 6, 0, false
		}
		return 4, -bci, code[bci+1] == opRet
	case op == opRet: // an old class file's subroutine returns to behind any jsr
		return length, -bci, true
	case length == 0 || length > len(code)-bci:
		return 0, 0, false
	case op >= opIfeq && op <= opJsr || op == opIfnull || op == opIfnonnull:
		branch = int(int16(binary.BigEndian.Uint16(code[bci+1:])))
	case op == opGotoW || op == opJsrW:
		branch = int(int32(binary.BigEndian.Uint32(code[bci+1:])))
	default:
		return length, 0, false
	}
	return length, branch, branch <= 0
}

// switchAt returns the length of a switch, 0 for a malformed one, and its lowest offset.
func switchAt(code []byte, bci int) (length, lowest int) {
	r := cursor{data: code, at: (bci + alignment) &^ (alignment - 1)}
	s4 := func() int { return int(int32(r.u4())) }
	if r.at > len(code) {
		return 0, 0
	}
	lowest = s4()
	entries, pairs := s4(), true
	if code[bci] == opTableswitch {
		entries, pairs = s4()-entries+1, false
	}
	if r.err != nil || entries < 0 || entries > mostSwitchEntries {
		return 0, 0
	}
	for range entries {
		if pairs {
			s4()
		}
		lowest = min(lowest, s4())
	}
	if r.err != nil {
		return 0, 0
	}
	return r.at - bci, lowest
}

// site adds what an instruction does to what is known of its place.
func (r *codeReader) site(s agent.Site, code []byte, bci int) (agent.Site, error) {
	op := code[bci]
	if op < opInvokevirtual || op > opInvokedynamic {
		s.Occasions |= occasionsAt(op, call{})
		return s, nil
	}
	index := binary.BigEndian.Uint16(code[bci+1:])
	c, err := r.pool.call(index)
	if err != nil {
		return s, err
	}
	s.Occasions |= occasionsAt(op, c)
	s.Opcode, s.Target = op, r.target(index, c)
	return s, nil
}

func (r *codeReader) target(index uint16, c call) int32 {
	number, known := r.numbers[index]
	if !known {
		number = int32(len(r.targets))
		t := agent.SiteTarget{Owner: c.owner, Name: c.name, Descriptor: c.descriptor, Polymorphic: polymorphic(c.owner, c.name)}
		if len(t.Owner) > 0 && t.Owner[0] == '[' { // arrays have Object's methods (JLS 10.7)
			t.Owner = "java/lang/Object"
		}
		r.targets = append(r.targets, t)
		r.numbers[index] = number
	}
	return number
}
