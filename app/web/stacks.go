package web

import (
	"bytes"
	"fmt"

	"golang.org/x/arch/arm64/arm64asm"
	"golang.org/x/arch/x86/x86asm"

	"misstep/bundle"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// stacks is a mismatch as it is shown.
type stacks struct {
	*misstepv1.Mismatch
	// Reference and Suspect are the titles of the two stacks.
	Reference, Suspect string
	Rows               []stackRow
	Code, ReturnCode   []instruction
	// Fault is what is wrong in a recording by itself; empty for a mismatch with stacks.
	Fault string
}

// stackRow is a line of two stacks.
type stackRow struct {
	Left, Right string
	// Differs in a word, for those who do not see the colour; empty where both agree. Class is its style.
	Differs, Class string
	// First reports that the stacks differ here first, counted from the bottom as far as they agree there, else from the top.
	First bool
	// LeftNative and RightNative mark native methods.
	LeftNative, RightNative bool
}

// marks of bundle.Rows in words and styles.
var marks = map[byte][2]string{
	'<': {"only left", "left"}, '>': {"only right", "right"}, '!': {"another place", "moved"}, ' ': {"", ""},
}

func stacksOf(m *misstepv1.Mismatch) *stacks {
	s := &stacks{Mismatch: m}
	if f := m.GetRecordingFault(); f != nil {
		s.Fault = signature.RecordedAt(f)
		return s
	}
	s.Reference, s.Suspect, s.Rows = rowsOf(m.GetReference(), m.GetSuspect())
	if i := divergence(s.Rows); i >= 0 {
		s.Rows[i].First = true
	}
	s.Code = disassemble(m.GetCode(), m.GetPc(), m.GetArchitecture())
	s.ReturnCode = disassemble(m.GetReturnCode(), 0, m.GetArchitecture())
	return s
}

// rowsOf puts two stacks beside each other, with a title for each.
func rowsOf(a, b *misstepv1.Trace) (left, right string, all []stackRow) {
	title, rows := bundle.Rows(a, b)
	for _, r := range rows {
		all = append(all, stackRow{
			Left: r.Left, Right: r.Right, Differs: marks[r.Mark][0], Class: marks[r.Mark][1],
			LeftNative: isNative(r.Left), RightNative: isNative(r.Right),
		})
	}
	return title.Left, title.Right, all
}

// divergence is the row from which on the stacks differ, seen from the end where they agree; -1 where they do not differ.
func divergence(rows []stackRow) int {
	first, last := -1, -1
	for i, r := range rows {
		if r.Differs != "" {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if last == len(rows)-1 { // the bottom differs: the stacks agree above
		return first
	}
	return last
}

func isNative(frame string) bool {
	const mark = " (native)"
	return len(frame) > len(mark) && frame[len(frame)-len(mark):] == mark
}

// instruction is one of disassembled code.
type instruction struct {
	Address, Bytes, Text string
}

// vzeroupper is the one vector instruction that HotSpot's stubs have near returns; x86asm knows none.
var vzeroupper = []byte{0xc5, 0xf8, 0x77}

// disassemble reads code from an address on, until it comes to what is not decoded: zeros behind the code, other vector
// instructions, data, or an instruction that is cut.
func disassemble(code []byte, at uint64, architecture string) []instruction {
	var all []instruction
	for len(code) > 0 && !bytes.HasPrefix(code, make([]byte, 8)) {
		length, text := decode(code, at, architecture)
		if length == 0 {
			return append(all, instruction{fmt.Sprintf("%#x", at), fmt.Sprintf("% x", code[:min(len(code), 16)]), "(not decoded)"})
		}
		all = append(all, instruction{fmt.Sprintf("%#x", at), fmt.Sprintf("% x", code[:length]), text})
		code, at = code[length:], at+uint64(length)
	}
	return all
}

// decode returns the length and the text of the first instruction; 0 when it is not known.
func decode(code []byte, at uint64, architecture string) (length int, text string) {
	if architecture == "arm64" {
		inst, err := arm64asm.Decode(code)
		if err != nil {
			return 0, ""
		}
		return 4, arm64asm.GNUSyntax(inst)
	}
	const vex3, vex2, evex = 0xc4, 0xc5, 0x62
	if bytes.HasPrefix(code, vzeroupper) {
		return len(vzeroupper), "vzeroupper"
	}
	inst, err := x86asm.Decode(code, 64)
	if err != nil || inst.Op == 0 || code[0] == vex3 || code[0] == vex2 || code[0] == evex {
		return 0, ""
	}
	return inst.Len, x86asm.GNUSyntax(inst, at, nil)
}
