package agent

import (
	"slices"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
)

// Place writes into a mismatch what the tap noted about the moment of a call: tid, pc, sp, fp, code, top_state, return_at,
// return_state, return_code, return_copied and architecture.
func (t *Tap) Place(c TapCall, m *misstepv1.Mismatch) {
	m.Tid = int64(c.TID)
	m.Pc, m.Sp, m.Fp = c.PC, c.SP, c.FP
	m.Code, m.TopState = c.Code, c.TopState
	m.ReturnAt, m.ReturnState, m.ReturnCode, m.ReturnCopied = c.ReturnAt, c.ReturnState, c.ReturnCode, c.ReturnCopied
	m.Architecture = t.Architecture
}

// ShadowTrace returns the known entries of the call's shadow as a trace, top first. Their bci is 0, as a shadow has none.
func (t *Tap) ShadowTrace(c TapCall) *misstepv1.Trace {
	trace := &misstepv1.Trace{Source: "shadow", NumFrames: int32(len(c.Entries))}
	for _, id := range slices.Backward(c.Entries) {
		trace.Frames = append(trace.Frames, frameOf(t.Names, id, 0))
	}
	return trace
}

// WalkTrace returns what AsyncGetCallTrace answered in the call, nil if it was not asked.
func (t *Tap) WalkTrace(c TapCall) *misstepv1.Trace {
	if !c.Walked {
		return nil
	}
	trace := &misstepv1.Trace{Source: "asgct", NumFrames: c.Result}
	for _, f := range c.Frames {
		trace.Frames = append(trace.Frames, frameOf(t.Methods, f.Method, f.BCI))
	}
	return trace
}

// frameOf names a method; one without a name is "null" or "unknown" of the class "?", as in the agent's records.
func frameOf(names map[uint32]string, id uint32, bci int32) *misstepv1.Frame {
	name, known := names[id]
	if !known {
		method := "unknown"
		if id == TapNull {
			method = "null"
		}
		return &misstepv1.Frame{ClassName: "?", Method: method, Bci: bci}
	}
	method, descriptor := name, ""
	if at := strings.IndexByte(name, '('); at >= 0 {
		method, descriptor = name[:at], name[at:]
	}
	class := ""
	if at := strings.LastIndexByte(method, '.'); at >= 0 { // a hidden class has a dot in its name, too
		class, method = method[:at], method[at+1:]
	}
	return &misstepv1.Frame{ClassName: strings.ReplaceAll(class, "/", "."), Method: method, Descriptor_: descriptor, Bci: bci}
}
