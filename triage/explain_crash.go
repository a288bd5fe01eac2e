package triage

import (
	"fmt"
	"slices"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// reason is a rule by which a part of a crash's or hang's signature was chosen, told from what was chosen.
type reason[T any] struct {
	name, doc string
	when      func(T) bool
}

// DetailFact is the name of the fact that has a crash's message and the signal's details.
const DetailFact = "detail"

// blame is a crash with the frame that triage blames for it.
type blame struct {
	crash *misstepv1.Crash
	signature.Crash
	problem signature.Frame // hs_err's problematic frame
	native  frames
	index   int // of the blamed frame in the native frames, -1 if it is none of them
}

// blames are the rules by which a frame is blamed, in order; the last one applies to everything.
var blames = []reason[blame]{
	{
		"unsafe-caller", "Unsafe accesses the address that it is given, so the program's method that called it is blamed.",
		func(b blame) bool { return strings.HasPrefix(b.Frame, signature.UnsafeCaller) },
	},
	{
		"unknown-frame", "The report names no frame that says anything, or it ends before the first one.",
		func(b blame) bool { return b.Frame == signature.UnknownFrame },
	},
	{
		"called-by", "The C library does what it is told: the first frame outside of it is blamed, with what it called.",
		func(b blame) bool { return strings.Contains(b.Frame, signature.CalledBy) },
	},
	{
		"build-offset", "The VM's library has no symbols: the offset in it, of this build, stands for the function.",
		func(b blame) bool {
			build := b.crash.GetVmBuild()
			return build != "" && strings.HasPrefix(b.Frame, "V ") && strings.HasSuffix(b.Frame, " of "+build)
		},
	},
	{
		"problematic-frame", "The instruction that failed is in this frame.",
		func(b blame) bool { return b.index == 0 && b.isProblem() || b.problem.Normalised() == b.Frame },
	},
	{
		"aborted", "The program gave up by calling abort: the function that did is blamed.",
		func(b blame) bool { return strings.HasPrefix(b.crash.GetError(), "SIGABRT") },
	},
	{
		"behind-the-report", "The problematic frame is missing, or it is the VM's reporting: the first frame behind is blamed.",
		func(b blame) bool { return b.crash.GetProblematicFrame() == "" || reports(b.problem) },
	},
	{
		"first-known-frame", "The problematic frame says nothing: the first frame with a library, symbol or method is blamed.",
		func(blame) bool { return true },
	},
}

func (b blame) isProblem() bool { return b.native.list[0].Normalised() == b.problem.Normalised() }

func blameOf(c *misstepv1.Crash, s *misstepv1.Signature) blame {
	b := blame{crash: c, problem: signature.ParseFrame(c.GetProblematicFrame()), native: parseFrames(c.GetNativeFrames())}
	if read, err := signature.Read(s); err == nil {
		b.Crash, _ = read.(signature.Crash)
	}
	text := b.Frame
	if _, caller, called := strings.Cut(text, signature.CalledBy); called {
		text = caller
	}
	b.index = slices.IndexFunc(b.native.list, func(f signature.Frame) bool {
		normal := f.Normalised()
		return normal == text || f.Kind == signature.JavaFrame && strings.HasSuffix(text, f.MethodName()) ||
			f.Kind == signature.VMFrame && strings.HasPrefix(text, normal+" of ")
	})
	return b
}

func explainCrash(c *misstepv1.Crash, s *misstepv1.Signature) Explanation {
	b := blameOf(c, s)
	i := slices.IndexFunc(blames, func(r reason[blame]) bool { return r.when(b) })
	position := ""
	if b.index >= 0 {
		position = fmt.Sprintf("%d of %d", b.index+1, len(b.native.list))
		if raw := c.GetNativeFrames()[b.index]; raw != c.GetProblematicFrame() {
			position += ": " + raw
		}
	}
	java := parseFrames(c.GetJavaFrames())
	facts := []Fact{
		{"error", c.GetError()},
		{DetailFact, c.GetDetail()},
		{"problematic frame", c.GetProblematicFrame()},
		{"blamed native frame", position},
		{"thread", c.GetThread()},
		{"kind of the thread", b.Thread},
		{"VM operation", c.GetVmOperation()},
		{"in a stack walk", c.GetInWalk() || len(b.Walker) > 0 && b.Walker[0] != signature.Unknown},
		{"phase of the walk", c.GetPhase()},
		{"native frames", len(b.native.list)},
		{"native frames cut", b.native.cut},
		{"Java frames", len(java.list)},
		{"build of the VM", c.GetVmBuild()},
	}
	return Explanation{Rule: "crash/" + blames[i].name, Reason: blames[i].doc, Facts: append(facts, partFacts(s)...)}
}
