package triage

import (
	"cmp"

	"misstep/coordinator/triage/stage"
	"misstep/coordinator/triage/x86"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// As many frames may be right of a walk that went wrong at the top.
const (
	// mostMisled are as many as one compiled frame may stand for. Seven were the most.
	mostMisled = 8
	// mostInlined is HotSpot's MaxInlineLevel: as deep code inlines methods in one another. Ten of them and three made
	// up were the most.
	mostInlined = 15
	// deepEnough is the number of frames that a walk has right before the place that the signal hit is not to blame,
	// where the top frame stands for itself only.
	deepEnough = 2
)

// examineTop finds what the signal hit, and what that explains. It needs what the others found.
func (f *Facts) examineTop(m *misstepv1.Mismatch, names namer) {
	top := f.suspect.fromTop(0)
	f.State = m.GetTopState()
	f.Anchored = top.anchor()
	// A frame of interpreted or native code is one of its own; compiled code and stubs may stand for any number of
	// frames.
	f.Single = f.State == "interpreted" || f.State == "native"
	reading := readerOf(m.GetArchitecture())(moment(m, names, top))
	f.Stage, f.StageBy = reading.Stage, reading.By
	f.Unfinished = stage.Unfinished(f.Stage)

	// A walk that did not begin where the thread was, or did not see how large the first compiled frame is: that some
	// frames are right says nothing. In a native method the walk begins at the thread's anchor.
	elsewhere := reading.Elsewhere || f.State == "interpreted" && f.Unfinished
	f.Misled = elsewhere && f.SuspectFrames > 0 && !f.Anchored && f.Agreed <= mostMisled

	f.AtLinker = f.cutAtLinker()
	f.TopExplains = f.topExplains()
}

// readers of machine code, by architecture as Go names it.
var readers = map[string]stage.Reader{"amd64": x86.Read}

// readerOf is the reader for an architecture; records of before it was noted are all of amd64.
func readerOf(architecture string) stage.Reader {
	if read, known := readers[cmp.Or(architecture, "amd64")]; known {
		return read
	}
	return stage.Unreadable
}

// moment is what the signal found, as package stage takes it.
func moment(m *misstepv1.Mismatch, names namer, top *frame) stage.Moment {
	called := names.frame(m.GetTopCall())
	return stage.Moment{
		State: m.GetTopState(), Code: m.GetCode(), SP: m.GetSp(), FP: m.GetFp(), ReturnAt: m.GetReturnAt(),
		ReturnState: m.GetReturnState(), ReturnCode: m.GetReturnCode(), ReturnCopied: m.GetReturnCopied(),
		Anchored: top.anchor(), CopiesArray: called.copiesArray() || top.copiesArray(), SearchesString: called.searchesString(),
	}
}

// cutAtLinker reports whether a walk ends at a method handle's linker because of it. A linker alone on top is none:
// nothing was called yet. Nor is one close below a stub, compiled code whose frame is not finished, or C code where the
// walk did not begin: there the signal's place explains the cut.
func (f *Facts) cutAtLinker() bool {
	if f.SuspectFrames < 2 || !f.BottomLinker {
		return false
	}
	explained := f.State == "stub" || f.State == "compiled" && f.Unfinished || f.State == "native" && f.Misled
	return !explained || f.SuspectFrames > f.mostRight()
}

// topExplains reports whether the signal's place explains where a bracket's walk left the reference, though that is of
// later: the walk went wrong at the top. A top that is a frame of its own stands for the first frames only. Where all
// is right again below some frames, they are no more than may be right, and some that were made up.
func (f *Facts) topExplains() bool {
	frames := f.SuspectFrames
	if f.Kind != truncated {
		frames -= f.Divergence
		if frames > f.mostRight() {
			return false
		}
	}
	return f.Misled || f.Unfinished && (!f.Single || frames <= deepEnough)
}

// mostRight frames may be right of a walk that went wrong at the top.
func (f *Facts) mostRight() int {
	if f.State == "compiled" {
		return mostInlined
	}
	return mostMisled
}

// topPlace is the place of a walk that went wrong because of where the signal hit.
func (f *Facts) topPlace() signature.Place {
	state := f.State
	if state == "" {
		state = "unknown"
	}
	return signature.Place{Kind: signature.TopFrame, State: state, Stage: f.Stage}
}
