package shadow

import (
	"misstep/agent"
	"misstep/runner/recording"
)

// samples finds for each event its call, and what is to be compared.
func (j *Judge) samples() []judged {
	k, offset, share := j.clock()
	matched := match(j.calls, j.events, k, offset)
	out := make([]judged, len(j.events))
	for i, e := range j.events {
		switch {
		case e.Thread != nil && e.Thread.Virtual:
			out[i] = judged{verdict: verdict{void: voidVirtual}}
		case matched[i].call == nil:
			out[i] = judged{verdict: verdict{void: matched[i].why}}
		case share < leastShare:
			out[i] = judged{verdict: verdict{void: voidClock}}
		default:
			out[i] = j.sample(e, matched[i].call)
		}
	}
	return out
}

// clock chooses the clock of the recording and the offset between its zero and the tap's; share is that of the events which then
// lie in a call.
func (j *Judge) clock() (k clock, offset int64, share float64) {
	voters := j.events
	if len(voters) > mostVoters {
		voters = nil
		for i := range mostVoters {
			voters = append(voters, j.events[i*len(j.events)/mostVoters])
		}
	}
	share = -1
	for _, candidate := range []clock{counter, monotonic} {
		guesses := map[*recording.Chunk]int64{}
		guess := func(e *event) int64 {
			g, seen := guesses[e.chunk]
			if !seen {
				g = candidate.atRealtime(j.in.Tap, e.chunk.StartNanos) - e.chunk.StartTicks
				guesses[e.chunk] = g
			}
			return g
		}
		at, of := candidate.zero(j.calls, voters, guess, int64(reachNanos*candidate.perNano(j.in.Tap)))
		if of > share {
			k, offset, share = candidate, at, of
		}
	}
	return k, offset, share
}

// sample prepares the comparison of an event with the shadow of its call.
func (j *Judge) sample(e *event, c *agent.TapCall) judged {
	stop := func(v verdict) judged { return judged{call: c, verdict: v} }
	switch {
	case !c.Shadow:
		return stop(verdict{void: voidShadow})
	case e.Failed == recording.True || e.Stack == nil || len(e.Stack.Frames) == 0:
		return stop(verdict{unwalkable: true, code: noFrame})
	case c.Overflow || int(c.Depth) != len(c.Entries):
		return stop(verdict{void: voidDepth})
	}
	if code, gaveUp := j.gaveUp(e.Stack); gaveUp {
		return stop(verdict{unwalkable: true, code: code})
	}
	s := &sample{
		cut: e.Stack.Truncated || e.Stack.Cut, carrier: c.Carrier, kinds: j.in.Source == JFR || walksVM(j.in.Walker),
		// A CPU-time sample says whether its top is the safepoint's; an execution sample does not.
		later:  j.in.Source == JFR && j.in.Feature >= cooperative && e.Biased != recording.False,
		biased: e.Biased == recording.True, state: c.TopState, code: j.in.Tap.Methods[c.Compiled],
	}
	for _, id := range c.Entries {
		k := j.methods.ofID[id]
		if k == 0 {
			return stop(verdict{void: voidMethod})
		}
		s.shadow = append(s.shadow, k)
	}
	for i := len(e.Stack.Frames) - 1; i >= 0; i-- {
		f := &e.Stack.Frames[i]
		if j.in.Source == AsyncProfiler && stale(f) {
			s.stack = append(s.stack, frame{bci: f.BCI, kind: f.Kind})
			continue
		}
		if j.in.Source == AsyncProfiler && pseudo(f.Kind) {
			continue
		}
		s.stack = append(s.stack, frame{
			method: j.methods.of(f.Method), bci: f.BCI, kind: f.Kind, raw: f.Method, unplaced: j.unplaced(f),
		})
	}
	return judged{sample: s, call: c}
}

// rootOf is the name of the outermost method of a stack.
func rootOf(stack []frame) string {
	if len(stack) == 0 || stack[0].method == nil {
		return ""
	}
	return stack[0].name
}
