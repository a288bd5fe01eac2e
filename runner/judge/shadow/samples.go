package shadow

import (
	"misstep/runner/judge/tapped"
	"misstep/runner/recording"
)

// samples finds for each event its call, and what is to be compared.
func (j *Judge) samples() []judged {
	matched := j.taken.Match()
	j.strangers = strangersOf(j.in.Tap, j.taken.Events)
	out := make([]judged, len(matched))
	for i, e := range j.taken.Events {
		switch {
		case e.Thread != nil && e.Thread.Virtual:
			out[i] = judged{verdict: verdict{void: voidVirtual}}
		case matched[i].Call == nil:
			out[i] = judged{verdict: verdict{void: matched[i].Why}}
		default:
			out[i] = j.sample(e.Event, matched[i])
		}
	}
	return out
}

// sample prepares the comparison of an event with the shadow of its call.
func (j *Judge) sample(e *recording.Event, from tapped.Found) judged {
	c := from.Call
	stop := func(v verdict) judged { return judged{call: c, stand: from.Stand, verdict: v} }
	switch {
	case !c.Shadow && !j.strangers[c.TID]:
		return stop(verdict{void: voidShadow})
	case e.Failed == recording.True || e.Stack == nil || len(e.Stack.Frames) == 0:
		return stop(verdict{unwalkable: true, code: noFrame})
	case c.Overflow || int(c.Depth) != len(c.Entries):
		return stop(verdict{void: voidDepth})
	}
	if code, gaveUp := j.gaveUp(e.Stack); gaveUp && (c.Shadow || code != notJava) {
		return stop(verdict{unwalkable: true, code: code})
	}
	s := &sample{
		cut: e.Stack.Truncated || e.Stack.Cut, carrier: c.Carrier, kinds: j.in.Source == JFR || walksVM(j.in.Walker),
		oneKind: j.in.Source == JFR && j.in.Feature < inlinedKind,
		// A CPU-time sample says whether its top is the safepoint's; an execution sample does not.
		// One of a thread that stood is of no later safepoint.
		later:  j.in.Source == JFR && j.in.Feature >= cooperative && e.Biased != recording.False && !from.Stand,
		biased: e.Biased == recording.True, state: c.TopState, code: j.in.Tap.Methods[c.Compiled],
	}
	if !c.Shadow {
		s.stranger = e.Thread.Name
	}
	for _, id := range c.Entries {
		k := j.methods.ofID[id]
		if k == 0 {
			return stop(verdict{void: voidMethod})
		}
		s.shadow = append(s.shadow, k)
	}
	s.stack = j.javaFrames(e.Stack)
	return judged{sample: s, call: c, stand: from.Stand}
}

// javaFrames returns the frames of methods, outermost first.
func (j *Judge) javaFrames(stack *recording.Stack) (frames []frame) {
	for i := len(stack.Frames) - 1; i >= 0; i-- {
		f := &stack.Frames[i]
		if j.in.Source == AsyncProfiler && stale(f) {
			frames = append(frames, frame{bci: f.BCI, kind: f.Kind})
			continue
		}
		if j.in.Source == AsyncProfiler && pseudo(f.Kind) {
			continue
		}
		frames = append(frames, frame{
			method: j.methods.of(f.Method), bci: f.BCI, kind: f.Kind, raw: f.Method, unplaced: j.unplaced(f),
		})
	}
	return frames
}

// rootOf is the name of the outermost method of a stack.
func rootOf(stack []frame) string {
	if len(stack) == 0 || stack[0].method == nil {
		return ""
	}
	return stack[0].name
}
