package triage

import (
	"google.golang.org/protobuf/proto"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// What an outcome may hold: a runner keeps to it, a coordinator refuses more.
const (
	// MaxMismatches bounds the entries of an outcome's mismatches, and so the signatures that one trial can report.
	MaxMismatches = 1024
	// MaxOutcome bounds the bytes of an outcome that a runner makes. Coordinators accept more, from runners of other versions, and
	// earlier ones accept 2 MiB with what is added after it was bounded, such as the host.
	MaxOutcome = 3 << 19
	// mostRecords is the number of entries above which each signature has one: earlier coordinators accept no more entries.
	mostRecords = 256
)

// widths are the numbers of frames that are kept of each stretch of a trace, tried until all examples have room.
var widths = []int{256, 64, 16, 6, 2}

// Fit bounds an outcome's mismatches to MaxMismatches entries and the outcome to maxBytes such that each signature keeps an example
// and its count: first the entries whose signature a smaller one has are added to that one, then the middles of long stacks are
// left out. What has no room even so, the last signatures, is counted. An outcome that has room is not changed.
func Fit(o *misstepv1.Outcome, maxBytes int) {
	fits := func() bool { return proto.Size(o) <= maxBytes && light(o) }
	if len(o.GetMismatches()) <= mostRecords && fits() {
		return
	}
	entries := len(o.GetMismatches())
	whole := oneOfEach(o.GetMismatches())
	o.Mismatches = make([]*misstepv1.Mismatch, len(whole))
	for i, e := range whole {
		o.Mismatches[i] = e.Mismatch
	}
	for _, width := range widths {
		if fits() {
			break
		}
		for i, e := range whole {
			o.Mismatches[i] = e.shorten(width)
		}
	}
	o.Mismatches = o.Mismatches[:min(len(whole), MaxMismatches)]
	for n := len(o.GetMismatches()); !fits() && n > 1; n = len(o.GetMismatches()) {
		o.Mismatches = o.Mismatches[:n-max(1, n/16)]
	}
	o.MismatchesLeftOut += uint32(entries - len(o.GetMismatches()))
	o.SignaturesLeftOut += uint32(len(whole) - len(o.GetMismatches()))
}

// light reports whether an outcome takes little more memory than its bytes let expect: coordinators refuse messages that take twice
// times their bytes and some MiB (coordinator/intake). Frames and words without content do.
func light(o *misstepv1.Outcome) bool {
	const part, free = 160, 2 << 20 // bytes of memory: of a frame or a word besides its texts, and of each outcome
	parts := 0
	for _, m := range o.GetMismatches() {
		parts += len(m.GetReference().GetFrames()) + len(m.GetSuspect().GetFrames()) + len(m.GetStack())
	}
	return parts*part <= 2*proto.Size(o)+free
}

// example is a mismatch with what triage says of it.
type example struct {
	*misstepv1.Mismatch
	signature *misstepv1.Signature
	title     string
	agreement agreement
}

func newExample(m *misstepv1.Mismatch) example {
	names := newNamer()
	reference, suspect := names.stack(m.GetReference()), names.stack(m.GetSuspect())
	sig, title := report(examineStacks(m, names, reference, suspect))
	return example{m, sig, title, agreementOf(m.GetCheck(), reference, suspect)}
}

// oneOfEach returns of the entries with the same signature the one with the fewest frames, with the sum of their counts, in the
// order in which the signatures first occur.
func oneOfEach(mismatches []*misstepv1.Mismatch) []example {
	var kept []example
	place := map[string]int{}
	for _, m := range mismatches {
		e := newExample(m)
		id := signature.ID(e.signature)
		i, seen := place[id]
		if !seen {
			place[id] = len(kept)
			kept = append(kept, e)
			continue
		}
		sum := kept[i].GetCount() + m.GetCount()
		if weight(m) < weight(kept[i].Mismatch) {
			kept[i] = e
		}
		kept[i].Count = sum
	}
	return kept
}

// weight is the number of frames of a mismatch: the fewer, the better an example.
func weight(m *misstepv1.Mismatch) int { return m.GetReference().Depth() + m.GetSuspect().Depth() }

// Shorten returns a mismatch whose traces keep at most width frames of each stretch: of what agrees from the top, of what agrees
// from the bottom, and of what lies between them, the first half and the last. It returns the mismatch as it is where that would
// change its signature or title, or if it has gaps already. The argument is not changed.
func Shorten(m *misstepv1.Mismatch, width int) *misstepv1.Mismatch {
	return newExample(m).shorten(width)
}

func (e example) shorten(width int) *misstepv1.Mismatch {
	m := e.Mismatch
	if len(m.GetReference().GetLeftOut())+len(m.GetSuspect().GetLeftOut()) > 0 {
		return m
	}
	left, right := e.agreement.gaps(width)
	if len(left)+len(right) == 0 {
		return m
	}
	short := proto.CloneOf(bare(m))
	// The frames that agree from the bottom are as many as before, less those left out.
	boundary := len(m.GetReference().GetFrames()) - int(m.GetDivergence())
	for _, g := range left {
		short.Divergence -= uint32(max(0, g.end-max(g.begin, boundary)))
	}
	leaveOut(short.GetReference(), m.GetReference().GetFrames(), left)
	leaveOut(short.GetSuspect(), m.GetSuspect().GetFrames(), right)
	if after, title := Mismatch(short); title != e.title || !signature.Same(e.signature, after) {
		return m
	}
	return short
}

// gap is a range of frames, as indices from the top.
type gap struct{ begin, end int }

// leaveOut gives a trace without frames those frames, but for the gaps. The frames are shared.
func leaveOut(t *misstepv1.Trace, frames []*misstepv1.Frame, gaps []gap) {
	if len(gaps) == 0 {
		if t != nil {
			t.Frames = frames
		}
		return
	}
	var kept []*misstepv1.Frame
	from := 0
	for _, g := range gaps {
		kept = append(kept, frames[from:g.begin]...)
		t.LeftOut = append(t.LeftOut, &misstepv1.FramesLeftOut{Before: uint32(len(kept)), Frames: uint32(g.end - g.begin)})
		from = g.end
	}
	t.Frames = append(kept, frames[from:]...)
}

// agreement is how far the traces of a mismatch agree. Of a sample, whose reference has instrumented methods only, the suspect's
// other frames are not compared.
type agreement struct {
	reference, compared int
	top, bottom         int   // frames that agree
	instrumented        []int // where each of those compared is in a sample's suspect
}

func agreementOf(check string, reference, suspect stack) agreement {
	compared := suspect
	a := agreement{reference: len(reference)}
	if familyOf(check, false) == Sample {
		compared = nil
		instrumented := map[int]bool{}
		for _, r := range reference {
			instrumented[r.id] = true
		}
		for i, s := range suspect {
			if instrumented[s.id] {
				compared, a.instrumented = append(compared, s), append(a.instrumented, i)
			}
		}
		a.instrumented = append(a.instrumented, len(suspect))
	}
	a.compared, a.top = len(compared), agreeing(reference, compared)
	a.bottom = alikeBelow(reference[a.top:], compared[a.top:])
	return a
}

// at returns where a frame that is compared is in the suspect.
func (a agreement) at(i int) int {
	if a.instrumented != nil {
		return a.instrumented[i]
	}
	return i
}

// gaps returns what can be left out of the reference and of the suspect. Frames that agree are left out of both alike. The frames
// of a sample's suspect that are not compared go with those around them.
func (a agreement) gaps(width int) (left, right []gap) {
	stretch := func(refFirst, refFrames, susFirst, susFrames int) {
		if g, ok := middle(refFrames, width); ok {
			left = append(left, gap{refFirst + g.begin, refFirst + g.end})
		}
		if g, ok := middle(susFrames, width); ok {
			right = append(right, gap{a.at(susFirst + g.begin), a.at(susFirst + g.end)})
		}
	}
	stretch(0, a.top, 0, a.top)
	stretch(a.top, a.reference-a.top-a.bottom, a.top, a.compared-a.top-a.bottom)
	stretch(a.reference-a.bottom, a.bottom, a.compared-a.bottom, a.bottom)
	return left, right
}

// middle returns what is between the first and the last frames of a stretch that is longer than width.
func middle(frames, width int) (gap, bool) {
	keep := width / 2
	return gap{keep, frames - keep}, frames > width
}
