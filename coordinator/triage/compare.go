package triage

// How two stacks of one thread are alike. A walk goes from the top down, so the uppermost place at which it leaves the
// reference is where it went wrong, and all that differs further down is the consequence.

// agreeing is the number of frames from the top that are of the same methods.
func agreeing(ref, sus stack) int {
	n := 0
	for n < len(ref) && n < len(sus) && ref[n].same(sus[n]) {
		n++
	}
	return n
}

// continueAlike reports whether two stacks are alike for two frames, or as long as both are.
func continueAlike(a, b stack) bool {
	n := min(2, len(a), len(b))
	return n > 0 && agreeing(a[:n], b[:n]) == n
}

// otherIndex is the uppermost of frames of equal methods that differ in the bytecode index, -1 for none. Of native
// methods it says nothing.
func otherIndex(ref, sus stack) int {
	for i, r := range ref {
		if r.GetBci() != sus[i].GetBci() && (!r.native() || !sus[i].native()) {
			return i
		}
	}
	return -1
}

// divergence is the index from the bottom at which the two first differ: by their frames, or as the agent said (agents)
// when one of them is absent. With indices a bytecode index is a difference too.
func divergence(ref, sus stack, agents uint32, indices bool) int {
	if len(ref) == 0 || len(sus) == 0 {
		return int(min(agents, 1<<20))
	}
	n := min(len(ref), len(sus))
	for u := range n {
		r, s := ref.fromBottom(u), sus.fromBottom(u)
		if !r.same(s) || indices && otherIndex(stack{r}, stack{s}) >= 0 {
			return u
		}
	}
	return n
}

// lastKept returns the index in ref, from the top, of the last frame that the truncated sus has; -1 when it has none.
// Tops may differ by the frames that moved between two observations, and recursion repeats frames, so of all places
// where sus could end the one is taken at which most frames above it agree, the nearest to sus's own length among
// equals.
func lastKept(ref, sus stack) int {
	if len(sus) == 0 {
		return -1
	}
	best, bestScore, bestOff := min(len(sus), len(ref))-1, 0, 0
	for j := range ref { // recursion makes this quadratic
		score := 0
		for a, b := j, len(sus)-1; a >= 0 && b >= 0 && ref[a].same(sus[b]); a, b = a-1, b-1 {
			score++
		}
		off := max(j-(len(sus)-1), len(sus)-1-j)
		if score > bestScore || score > 0 && score == bestScore && off < bestOff {
			best, bestScore, bestOff = j, score, off
		}
	}
	return best
}

// mostShifted frames, lost or made up at one place, are looked for.
const mostShifted = 8

// shape is the kind of the uppermost difference, where ref and sus begin: "extra", "missing", "wrong-method",
// "swapped", or "foreign" for none of these. What the agent calls foreign is often one lost frame and, far below,
// another fault of its own, such as the end of the walk at a deoptimised caller.
func shape(ref, sus stack) string {
	for n := 1; n <= mostShifted; n++ {
		switch {
		case n < len(sus) && continueAlike(ref, sus[n:]):
			return extra
		case n < len(ref) && continueAlike(ref[n:], sus):
			return missing
		}
	}
	if len(ref) > 1 && len(sus) > 1 {
		switch {
		case continueAlike(ref[1:], sus[1:]):
			return wrongMethod
		case ref[0].same(sus[1]) && ref[1].same(sus[0]):
			return swapped
		}
	}
	return foreign
}

// among leaves those of sus's frames that are of methods in ref: the reference of a sample has instrumented methods
// only.
func among(ref, sus stack) stack {
	instrumented := map[string]bool{}
	for _, r := range ref {
		instrumented[r.name()] = true
	}
	var some stack
	for _, f := range sus {
		if instrumented[f.name()] {
			some = append(some, f)
		}
	}
	return some
}

// leadingAgents is the number of frames at the top that are the agent's own.
func leadingAgents(ref stack) int {
	n := 0
	for n < len(ref) && ref[n].agents() {
		n++
	}
	return n
}

// frozen reports whether a virtual thread's own frames, which the reference has down to VirtualThread.run, are not all
// in the suspect, which continues into the carrier or ends.
func frozen(ref, sus stack) bool {
	if !ref.fromBottom(0).continuation() {
		return false
	}
	for _, f := range sus {
		if f.virtualThreadRun() {
			return false
		}
	}
	return true
}

// bottomLost reports whether a walk has all but the very last frame of a reference that has all.
func bottomLost(ref, sus stack) bool {
	const enough = 3 // in a shorter stack the place above the last frame is as likely to blame
	return len(ref) >= enough && len(sus) == len(ref)-1 && agreeing(ref, sus) == len(sus)
}
