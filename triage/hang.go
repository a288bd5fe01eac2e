package triage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"misstep/internal/threaddump"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

const (
	// maxWaiters bounds the places in a hang's signature, maxDeadlocked those of a deadlock.
	maxWaiters, maxDeadlocked = 4, 8
	// maxCycles bounds the deadlocks of one hang.
	maxCycles = 64
)

// spinning is the share of the busiest thread's CPU time from which a thread is considered to run all the time; on a loaded machine
// no thread runs for half of the observed time.
const spinning = 0.5

// Hangs returns the signatures of a hang, with titles: its cause and the threads to blame, grouped by place, since pools have any
// number of equal threads. For a hang in a walk or in the agent those are the threads in it; for a safepoint that is not reached
// the running ones; otherwise the application's threads that are likeliest to hang (see rank). Threads that only sample others are
// blamed if there is no other (see samples). Each deadlock, a cycle of threads of which each waits for the next one, is a signature
// of its own, whatever else hangs beside it.
func Hangs(h *misstepv1.Hang) []Hit {
	cause := h.GetCause()
	if cause == "deadlock" {
		if all := deadlocks(h.GetThreads()); len(all) > 0 {
			return all
		}
		cause = "" // it is not known which thread waits for which: all threads of the application
	}
	if places, ok := shownBy(h); ok {
		hit := hangHit(cause, places)
		hit.FormerID = signature.ID(likeliest(h, "", threaddump.CauseLimit).Signature)
		return []Hit{hit}
	}
	return []Hit{likeliest(h, cause, h.GetCause())}
}

// likeliest returns the signature of a hang by the threads that are likeliest to hang, given its cause as it decides which ones
// are, and as the signature has it.
func likeliest(h *misstepv1.Hang, cause, name string) Hit {
	most := mostRunning(h)
	byRank := map[rank][]string{}
	holds := newWaits(h.GetThreads()).holders()
	for i, t := range h.GetThreads() {
		if housekeeping(t) && (i > 0 || !nativeCause(cause)) { // the first thread of a hang in a walk is the culprit
			continue
		}
		if nativeCause(cause) {
			r := nativeRank(cause, t, i)
			byRank[r] = append(byRank[r], place(cause, t, most))
			continue
		}
		r := rankOf(t, holds[i])
		byRank[r] = append(byRank[r], waiter(t))
	}
	return hangHit(name, mostSuspicious(byRank))
}

// nativeCause reports whether a cause blames threads by their native frames or their running time.
func nativeCause(cause string) bool {
	return slices.Contains([]string{"in-walk", "in-agent", "starved", "safepoint"}, cause)
}

// nativeRank returns the rank of the i-th thread where native frames or running times are to blame.
func nativeRank(cause string, t *misstepv1.HungThread, i int) rank {
	culprit := i == 0 && (cause == "in-walk" || cause == "in-agent")
	if samples(t) && !culprit {
		return sampling
	}
	return suspicious
}

// mostRunning returns the share of the time that the busiest thread of the application ran.
func mostRunning(h *misstepv1.Hang) (most float64) {
	for _, t := range h.GetThreads() {
		if !housekeeping(t) {
			most = max(most, t.GetRunning())
		}
	}
	return most
}

// mostSuspicious returns at most maxWaiters places, sorted: those of the threads of the first rank that has any. Those of other
// ranks are beside the point, and where a dump ends early some are missing.
func mostSuspicious(byRank map[rank][]string) []string {
	var places []string
	for r := suspicious; r <= sampling && len(places) == 0; r++ {
		of := byRank[r]
		slices.Sort(of)
		for _, p := range slices.Compact(of) {
			if p != "" && len(places) < maxWaiters && !slices.Contains(places, p) {
				places = append(places, p)
			}
		}
	}
	slices.Sort(places)
	return places
}

func hangHit(cause string, places []string) Hit {
	title := "hang: " + cause
	if len(places) > 0 {
		title = fmt.Sprintf("hang (%s): %s", cause, places[0])
	}
	s := signature.Hang{Cause: cause, Waiters: places}
	return Hit{Signature: signature.Proto(s), Title: signature.Clean(title), mismatch: -1}
}

// deadlocks returns a signature for each cycle of threads.
func deadlocks(threads []*misstepv1.HungThread) []Hit {
	waits := newWaits(threads)
	var hits []Hit
	for _, cycle := range waits.cycles() {
		var places []string
		for _, i := range cycle {
			if p := deadlockWaiter(threads, waits, i); !slices.Contains(places, p) {
				places = append(places, p)
			}
		}
		slices.Sort(places)
		hits = append(hits, hangHit("deadlock", places[:min(len(places), maxDeadlocked)]))
	}
	return hits
}

// deadlockWaiter returns the part of the signature of a thread in a deadlock.
func deadlockWaiter(threads []*misstepv1.HungThread, waits waits, i int) string {
	t := threads[i]
	at := ""
	if place := deadlockPlace(t.GetJavaFrames()); place != "" { // else the dump ends before its frames
		at = " at " + place
	}
	return who(t) + at + signature.WaitsFor + signature.Class(t.GetWaitsFor()) + signature.HeldBy + who(threads[waits.next[i]])
}

// waits says which thread each waits for, by index; -1 for none.
type waits struct{ next []int }

// newWaits finds the holders by their ids. Outcomes from before threads had ids name them.
func newWaits(threads []*misstepv1.HungThread) waits {
	byID, byName := map[int64]int{}, map[string]int{}
	for i, t := range threads {
		if t.GetId() != 0 {
			byID[t.GetId()] = i
		}
		if _, twice := byName[t.GetName()]; twice {
			byName[t.GetName()] = -1
			continue
		}
		byName[t.GetName()] = i
	}
	w := waits{next: make([]int, len(threads))}
	for i, t := range threads {
		next, found := byID[t.GetHeldById()]
		if !found && t.GetHeldBy() != "" {
			next, found = byName[t.GetHeldBy()]
		}
		if !found || next == i {
			next = -1
		}
		w.next[i] = next
	}
	return w
}

// holders returns the threads, by index, that hold what others wait for.
func (w waits) holders() map[int]bool {
	holds := map[int]bool{}
	for _, next := range w.next {
		holds[next] = true
	}
	return holds
}

// cycles returns the circles of threads, each once. A thread waits for one other at most, so no two circles share a thread.
func (w waits) cycles() [][]int {
	var all [][]int
	path := make([]int, len(w.next)) // the start, plus 1, of the first path through a thread
	for start := range w.next {
		at := start
		for at >= 0 && path[at] == 0 {
			path[at] = start + 1
			at = w.next[at]
		}
		if at < 0 || path[at] != start+1 || len(all) >= maxCycles {
			continue
		}
		cycle := []int{at}
		for next := w.next[at]; next != at; next = w.next[next] {
			cycle = append(cycle, next)
		}
		all = append(all, cycle)
	}
	return all
}

// place returns a thread's part of the signature where its native frames or its running time are to blame, "" for none. most is the
// share of the time that the busiest thread ran.
func place(cause string, t *misstepv1.HungThread, most float64) string {
	switch cause {
	case "in-walk", "in-agent":
		if chain := walkChain(t.GetNativeFrames()); chain != "" {
			return who(t) + " in " + chain
		}
	case "safepoint":
		// The JVM did not stop, so there are no Java stacks: the threads that kept running are to blame.
		if t.GetRunning() == 0 || t.GetRunning() < spinning*most || housekeeping(t) {
			return ""
		}
		for _, f := range t.GetNativeFrames() {
			if fn := nativeName(f); fn != "" {
				return who(t) + " runs in " + fn
			}
		}
		return who(t) + " runs"
	}
	return "" // starved: it does not depend on the threads which of them the scheduler starves
}

// waiter returns a thread's part of the signature where its Java frames, or a walker among its native ones, are to blame.
func waiter(t *misstepv1.HungThread) string {
	if p := javaPlace(t.GetJavaFrames()); p != "" {
		return who(t) + " at " + p
	}
	if chain := walkChain(t.GetNativeFrames()); chain != "" {
		return who(t) + " in " + chain
	}
	return ""
}

// walkChain returns the walker's frames of a native stack, from the innermost to the walker's entry; "" when there is no walker.
func walkChain(frames []string) string {
	var chain []string
	for _, raw := range frames {
		fn := nativeName(raw)
		if fn == "" || libc(fn) {
			continue
		}
		for _, end := range append([]string{"misstep"}, walkerEnds...) {
			if strings.Contains(fn, end) {
				return strings.Join(append(chain, fn), " < ")
			}
		}
		if len(chain) < maxChain && (len(chain) == 0 || chain[len(chain)-1] != fn) {
			chain = append(chain, fn)
		}
	}
	return ""
}

// nativeName returns the function in a line of gdb or hs_err; "" when it is not known. In a line of hs_err, the library stands for
// an unknown function of the VM.
func nativeName(line string) string {
	f := signature.ParseFrame(line)
	if f.Kind != signature.VMFrame && f.Kind != signature.CFrame {
		f = signature.ParseGDBFrame(line)
		return signature.WithoutNumbers(f.FunctionName())
	}
	_, name, _ := strings.Cut(f.Normalised(), " ")
	return name
}

// who names a thread by what does not differ from run to run. A virtual thread has the name of its carrier, or one that only some
// dumps give.
func who(t *misstepv1.HungThread) string {
	if t.GetVirtual() {
		return "virtual thread"
	}
	return cmp.Or(threadName(t.GetName()), "thread")
}
