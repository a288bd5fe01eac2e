// Package x86 recognises the stage of a frame's life (package stage) by x86-64 instructions as HotSpot's interpreter, compilers and
// stubs and C compilers emit them. All functions are pure functions of bytes; each file lists what differs by JDK.
package x86

import "misstep/triage/stage"

// rule is one way to recognise a stage; the first that matches a moment decides.
type rule struct {
	// by names the evidence for humans.
	by    string
	stage string
	// state is the only one to which the rule applies; empty for any.
	state string
	when  func(m stage.Moment) bool
	// elsewhere is true when the walk begins at another frame than the one on top.
	elsewhere bool
}

// moments are rules that use the stack, or more than the code at the pc.
var moments = []rule{
	{by: "C code that has no frame", stage: stage.Prologue, state: native, when: frameless, elsewhere: true},
	{by: "C code called by a collector's barrier", stage: stage.Barrier, state: native, when: inBarrier, elsewhere: true},
	{by: "C code with an aligned stack", stage: stage.Aligned, state: native, when: realigned, elsewhere: true},
	{by: "C1's System.arraycopy between its pushes and pops", stage: stage.SubtypeCheck, state: compiled, when: copiesArray},
	{by: "C code that looks for an exception's handler", stage: stage.Epilogue, state: native, when: findsHandler, elsewhere: true},
	{by: "a jump to a stub, the return address on top", stage: stage.Epilogue, state: compiled, when: leaves},
}

// instructions are rules that use the code at the pc.
var instructions = []rule{
	{by: "an instruction that sets up a frame", stage: stage.Prologue, when: onCode(frameBegins.begin)},
	{by: "an instruction that takes down a frame", stage: stage.Epilogue, when: onCode(frameEnds.begin)},
	{by: "sub rsp", stage: stage.Prologue, when: notInterpreted(smallFrameBegins.begin)},
	{by: "add rsp", stage: stage.Epilogue, when: notInterpreted(smallFrameEnds.begin)},
	{by: "no code", stage: stage.Unknown, when: onCode(func(code []byte) bool { return len(code) == 0 })},
	{by: "a C function's first instructions", stage: stage.Prologue, state: native, when: onCode(setsUpFrame)},
	{by: "the interpreter's entry of a method", stage: stage.Prologue, state: interpreted, when: onCode(entersMethod.begin)},
	{by: "the end of the interpreter's entry", stage: stage.Prologue, state: interpreted, when: onCode(setsUpMethod)},
	{by: "the interpreter's exit of a method", stage: stage.Epilogue, state: interpreted, when: onCode(leavesMethod.begin)},
	{by: "C1's subtype check, which pops its words", stage: stage.SubtypeCheck, state: compiled, when: onCode(popsWords)},
	{by: "C2's string search", stage: stage.StringSearch, state: compiled, when: onCode(searchesString.begin)},
	{by: "registers saved for a barrier", stage: stage.Barrier, state: compiled, when: onCode(savesRegisters)},
	{by: "the arguments of ZGC's store barrier", stage: stage.Barrier, state: compiled, when: onCode(passesAddress)},
	{by: "the call of ZGC's load barrier", stage: stage.Barrier, state: compiled, when: onCode(callsCollector)},
	{by: "registers restored after a barrier", stage: stage.Barrier, state: compiled, when: onCode(restoresRegisters)},
	{by: "a jump to the stub that looks for a handler", stage: stage.Epilogue, state: compiled, when: onCode(leavesForStub.begin)},
	{by: "a stub's jump by a register", stage: stage.Epilogue, state: stub, when: onCode(jumpsAway)},
	{by: "the end of the exception blob", stage: stage.Epilogue, state: stub, when: onCode(endsExceptionBlob.begin)},
	{by: "a stub that restores all registers", stage: stage.Epilogue, state: stub, when: onCode(restoresAll)},
	{by: "a stub that saves all registers", stage: stage.Prologue, state: stub, when: onCode(savesAll)},
	{by: "C1's allocation stub", stage: stage.Prologue, state: stub, when: onCode(allocates.begin)},
	{by: "C1's finalizer stub", stage: stage.Prologue, state: stub, when: onCode(finalizes.begin)},
	{by: "compiled code that searches a string", stage: stage.StringSearch, state: compiled, when: searches},
	{by: "compiled code that compresses a string", stage: stage.StringCompression, state: compiled, when: compresses},
}

// States of moments.
const (
	interpreted = "interpreted"
	compiled    = "compiled"
	stub        = "stub"
	native      = "native"
)

// Read implements stage.Reader.
func Read(m stage.Moment) stage.Reading {
	for _, rules := range [][]rule{moments, instructions} {
		for _, r := range rules {
			if (r.state == "" || r.state == m.State) && r.when(m) {
				return stage.Reading{Stage: r.stage, By: r.by, Elsewhere: r.elsewhere}
			}
		}
	}
	return stage.Reading{Stage: stage.Body, By: "no instruction that tells"}
}

// onCode returns the condition that the code at the pc satisfies when.
func onCode(when func(code []byte) bool) func(stage.Moment) bool {
	return func(m stage.Moment) bool { return when(m.Code) }
}

// notInterpreted is onCode for code that is not the interpreter's.
func notInterpreted(when func(code []byte) bool) func(stage.Moment) bool {
	return func(m stage.Moment) bool { return m.State != interpreted && when(m.Code) }
}
