package triage

import (
	"cmp"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
	"misstep/triage/stage"
	"misstep/triage/x86"
)

// The numbers of frames that may be right in a walk that went wrong at the top.
const (
	// maxMisled frames are as many as one compiled frame may stand for. The maximum observed is seven.
	maxMisled = 8
	// maxInlined is HotSpot's MaxInlineLevel, the depth of nested inlining. The maximum observed is ten, and three bogus frames.
	maxInlined = 15
	// deepEnough is the number of right frames from which the place that the signal hit is not to blame, where the top frame stands
	// for itself only.
	deepEnough = 2
)

// examineTop finds what the signal hit, and what that explains. It needs the facts that the others found.
func (f *Facts) examineTop(m *misstepv1.Mismatch, names namer) {
	top := f.suspect.fromTop(0)
	f.State = m.GetTopState()
	f.Anchored = top.anchor()
	// A frame of interpreted or native code is a single frame; compiled code and stubs may stand for any number of frames.
	f.Single = f.State == "interpreted" || f.State == "native"
	reading := readerOf(m.GetArchitecture())(moment(m, names, top))
	f.Stage, f.StageBy = reading.Stage, reading.By
	f.Unfinished = stage.Unfinished(f.Stage)

	// In a walk that did not begin where the thread was, or did not know the size of the first compiled frame, some right frames
	// prove nothing. In a native method the walk begins at the thread's anchor.
	elsewhere := reading.Elsewhere || f.State == "interpreted" && f.Unfinished
	f.Misled = elsewhere && f.SuspectFrames > 0 && !f.Anchored && f.Agreed <= maxMisled

	f.AtLinker = f.cutAtLinker()
	f.TopExplains = f.topExplains()
}

// readers of machine code, by architecture as Go names it.
var readers = map[string]stage.Reader{"amd64": x86.Read}

// readerOf returns the reader for an architecture; records from before the architecture was recorded are all from amd64.
func readerOf(architecture string) stage.Reader {
	if read, known := readers[cmp.Or(architecture, "amd64")]; known {
		return read
	}
	return stage.Unreadable
}

// moment returns what is known about the top frame, for package stage.
func moment(m *misstepv1.Mismatch, names namer, top *frame) stage.Moment {
	called := names.frame(m.GetTopCall())
	return stage.Moment{
		State: m.GetTopState(), Code: m.GetCode(), SP: m.GetSp(), FP: m.GetFp(), ReturnAt: m.GetReturnAt(),
		ReturnState: m.GetReturnState(), ReturnCode: m.GetReturnCode(), ReturnCopied: m.GetReturnCopied(),
		Anchored: top.anchor(), CopiesArray: called.copiesArray() || top.copiesArray(), SearchesString: called.searchesString(),
		CompressesString: called.compressesString() || top.compressesString(),
	}
}

// cutAtLinker reports whether a walk ends at a method handle's linker because of it. It does not when the
// linker is alone on top, since nothing was called yet, nor when it is close below a stub, below compiled code whose frame is not
// finished, or below C code where the walk did not begin: there the place that the signal hit explains the cut.
func (f *Facts) cutAtLinker() bool {
	if f.SuspectFrames < 2 || !f.BottomLinker {
		return false
	}
	explained := f.State == "stub" || f.State == "compiled" && f.Unfinished || f.State == "native" && f.Misled
	return !explained || f.SuspectFrames > f.maxRight()
}

// topExplains reports whether the place that the signal hit explains where a bracket's walk left the reference, although the
// reference is taken later: the walk went wrong at the top. A top that is a single frame explains the first frames only. Where
// everything is right again below some frames, those are no more than may be right, and some bogus ones.
func (f *Facts) topExplains() bool {
	frames := f.SuspectFrames
	if f.Kind != truncated {
		frames -= f.Divergence
		if frames > f.maxRight() {
			return false
		}
	}
	return f.Misled || f.Unfinished && (!f.Single || frames <= deepEnough)
}

// maxRight returns how many frames may be right in a walk that went wrong at the top.
func (f *Facts) maxRight() int {
	if f.State == "compiled" {
		return maxInlined
	}
	return maxMisled
}

// topPlace returns the place of a walk that went wrong because of where the signal hit.
func (f *Facts) topPlace() signature.Place {
	state := f.State
	if state == "" {
		state = "unknown"
	}
	return signature.Place{Kind: signature.TopFrame, State: state, Stage: f.Stage}
}
