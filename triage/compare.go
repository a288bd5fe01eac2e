package triage

import "slices"

// Comparison of two stacks of one thread. A walk proceeds from the top down, so it went wrong at the uppermost place where it
// leaves the reference; everything that differs further down is a consequence.

// agreeing returns the number of frames from the top that have the same methods.
func agreeing(ref, sus stack) int {
	n := 0
	for n < len(ref) && n < len(sus) && ref[n].same(sus[n]) {
		n++
	}
	return n
}

// alikeBelow returns the number of frames from the bottom that have the same methods.
func alikeBelow(ref, sus stack) int {
	n := 0
	for n < len(ref) && n < len(sus) && ref.fromBottom(n).same(sus.fromBottom(n)) {
		n++
	}
	return n
}

// continueAlike reports whether two stacks agree in the next two frames, or in one when either has only one.
func continueAlike(a, b stack) bool {
	n := min(2, len(a), len(b))
	return n > 0 && agreeing(a[:n], b[:n]) == n
}

// otherIndex returns the uppermost of the frames, which have equal methods, whose bytecode index differs; -1 for none. Native
// methods are not compared.
func otherIndex(ref, sus stack) int {
	for i, r := range ref {
		if r.GetBci() != sus[i].GetBci() && (!r.native() || !sus[i].native()) {
			return i
		}
	}
	return -1
}

// divergence returns the index from the bottom at which the two stacks first differ: by their frames, or as the agent reported
// (agents) when one of them is absent. With indices, different bytecode indices are a difference too.
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
// The tops may differ by frames that changed between the two observations, and recursion repeats frames. So of all places where sus
// could end, it takes the one above which most frames agree, among equals the one nearest to the length of sus.
func lastKept(ref, sus stack) int {
	if len(sus) == 0 {
		return -1
	}
	best, bestScore, bestOff := min(len(sus), len(ref))-1, 0, 0
	for j, score := range alikeAbove(ref, sus) {
		off := max(j-(len(sus)-1), len(sus)-1-j)
		if score > bestScore || score > 0 && score == bestScore && off < bestOff {
			best, bestScore, bestOff = j, score, off
		}
	}
	return best
}

// alikeAbove returns for each frame of ref how many frames have the same methods from there and from the bottom of sus upwards. It
// is the Z function (Gusfield, Algorithms on Strings, 1.4) of both stacks, bottom first: its time is linear, also in a recursion.
func alikeAbove(ref, sus stack) []int {
	all := numbers(slices.Concat(ref, sus))
	slices.Reverse(all) // sus, ref
	pattern, text := all[:len(sus)], all[len(sus):]
	alike := func(i, n int) int { // beyond the n that are known to agree, from all[i] on
		for n < len(pattern) && i+n < len(all) && pattern[n] == all[i+n] {
			n++
		}
		return n
	}
	z := make([]int, len(all))
	from, to := 0, 0 // the frames that agree and go furthest
	for i := 1; i < len(all); i++ {
		n := 0
		if i < to {
			n = min(z[i-from], to-i)
		}
		if z[i] = alike(i, n); i+z[i] > to {
			from, to = i, i+z[i]
		}
	}
	scores := make([]int, len(text))
	for i := range text {
		scores[len(text)-1-i] = z[len(sus)+i]
	}
	return scores
}

// numbers returns numbers of frames' methods, the same for those that have the same method. Where one of that class and name lacks
// its descriptor, no descriptor counts.
func numbers(frames stack) []int {
	type method struct {
		id         int
		descriptor string
	}
	lacks := map[int]bool{}
	for _, f := range frames {
		if f.GetDescriptor_() == "" {
			lacks[f.id] = true
		}
	}
	known, all := map[method]int{}, make([]int, len(frames))
	for i, f := range frames {
		m := method{id: f.id}
		if !lacks[f.id] {
			m.descriptor = f.GetDescriptor_()
		}
		if _, seen := known[m]; !seen {
			known[m] = len(known)
		}
		all[i] = known[m]
	}
	return all
}

// maxShifted bounds the number of frames, missing or bogus at one place, that shape looks for.
const maxShifted = 8

// shape returns the kind of the uppermost difference, at which ref and sus begin: "extra", "missing", "wrong-method", "swapped", or
// "foreign" for none of these. What the agent calls foreign is often one missing frame and, far below, an independent fault, such
// as the end of the walk at a deoptimised caller.
func shape(ref, sus stack) string {
	for n := 1; n <= maxShifted; n++ {
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

// onlyMethodsOf returns the frames of sus whose methods occur in ref: the reference of a sample has instrumented methods only.
func onlyMethodsOf(ref, sus stack) stack {
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

// leadingAgents returns the number of frames at the top that are the agent's own.
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

// openSeam reports whether a walk continues into the carrier from another frame than the first one of a continuation: those in
// between are frozen in the heap.
func openSeam(sus stack) bool {
	for i := 1; i < len(sus); i++ {
		if seam := sus[i].raw(); seam.GetClassName() == continuationClass && seam.GetMethod() == "enterSpecial" {
			above := sus[i-1].raw()
			return above.GetClassName() != continuationClass || above.GetMethod() != "enter"
		}
	}
	return false
}

// bottomLost reports whether a walk has all but the very last frame of a complete reference.
func bottomLost(ref, sus stack) bool {
	const minFrames = 3 // in a shorter stack the place above the last frame is as likely to blame
	return len(ref) >= minFrames && len(sus) == len(ref)-1 && agreeing(ref, sus) == len(sus)
}
