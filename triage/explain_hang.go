package triage

import (
	"cmp"
	"fmt"
	"slices"

	"misstep/internal/threaddump"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// hung is a hang with the places in its signature.
type hung struct {
	hang   *misstepv1.Hang
	places []string
	waits  waits
	cycles [][]int
	holds  map[int]bool
	most   float64
	// shown reports that the places are those of a cause that a dump shows by itself.
	shown bool
}

// hangs are the rules by which threads of a hang are blamed, in order; the last one applies to everything.
var hangs = []reason[hung]{
	{
		"starved", "Runnable threads got no CPU. Which of them were starved is not part of the identity.",
		func(h hung) bool { return h.hang.GetCause() == "starved" },
	},
	{
		"no-thread", "Every thread waits for work or is one of the JVM's own: if the program hangs, nothing here shows what for.",
		func(h hung) bool { return len(h.places) == 0 },
	},
	{
		"in-walk", "A thread does not leave a walker or the agent: the threads in it are blamed.",
		func(h hung) bool { return h.hang.GetCause() == "in-walk" || h.hang.GetCause() == "in-agent" },
	},
	{
		"safepoint", "The JVM does not reach a safepoint: the threads that kept running are blamed.",
		func(h hung) bool { return h.hang.GetCause() == "safepoint" },
	},
	{
		"initialiser-deadlock", "Threads wait for each other in a circle, some of them until a class is initialised. The JVM " +
			"does not report such a circle: it follows from the initialisers on the stacks.",
		func(h hung) bool { return h.initialiserCycle() },
	},
	{
		"class-initialiser", "Threads wait until another one has initialised a class: the thread whose initialiser does not end " +
			"is blamed where the dump shows it, otherwise those that wait.",
		func(h hung) bool { return h.hang.GetCause() == threaddump.CauseInitialisation && h.shown },
	},
	{
		"starved-carriers", "Virtual threads could run, but every carrier runs another one or is pinned by it: those on the " +
			"carriers are blamed, with the initialiser or native method that pins. Where a carrier is free, a thread that waits " +
			"was not woken.",
		func(h hung) bool { return h.hang.GetCause() == threaddump.CauseCarriers && h.shown },
	},
	{
		"deadlock", "Threads wait for each other in a circle: they are blamed, and not those that wait for them.",
		func(h hung) bool { return h.deadlocked() },
	},
	{
		"idle", "Every thread waits for work, or has frames of the JDK only: the program may be idle and not hang.",
		func(h hung) bool { return h.best() > sleeping },
	},
	{
		"waiting-threads", "What the program waits for is not known: the threads that are likeliest to hang are blamed.",
		func(hung) bool { return true },
	},
}

// PartFact begins the names of the facts that repeat the signature, ThreadFact those of a hang's threads.
const (
	PartFact   = "part "
	ThreadFact = "thread "
)

// LeftOut precedes the reason why a thread is not blamed.
const LeftOut = "left out: "

// Reasons why a thread is not blamed.
const (
	ofTheJVM   = "of the JVM's own"
	elsewhere  = "not in what hangs"
	otherCycle = "in another deadlock"
	notInCycle = "not in the deadlock"
	holding    = "waits for a lock that another thread holds"
	forWork    = "waits for work"
	ofJDKOnly  = "has frames of the JDK only"
	forOthers  = "waits for something to do or for another thread's end"
	forTime    = "waits for time to pass"
	ofSampler  = "only samples the others"
	unknownAt  = "no frames that say where it is"
	beyond     = "at a place for which the signature has no room"
)

var leftOut = []string{
	ofTheJVM, elsewhere, otherCycle, notInCycle, holding, forWork, ofJDKOnly, forOthers, forTime, ofSampler, unknownAt, beyond,
}

// rankReasons says why a thread is not blamed where there are better ones.
var rankReasons = map[rank]string{
	waiting: forOthers, sleeping: forTime, internal: ofJDKOnly, blocked: holding, idle: forWork, sampling: ofSampler,
}

func explainHang(h *misstepv1.Hang, s *misstepv1.Signature) Explanation {
	it := hung{hang: h, places: s.GetParts()[min(1, len(s.GetParts())):], waits: newWaits(h.GetThreads()), most: mostRunning(h)}
	it.cycles, it.holds = it.waits.cycles(), it.waits.holders()
	_, it.shown = shownBy(h)
	i := slices.IndexFunc(hangs, func(r reason[hung]) bool { return r.when(it) })
	facts := []Fact{{"cause", h.GetCause()}, {"threads", len(h.GetThreads())}}
	left, named := map[string]int{}, map[string]int{}
	var threads []Fact
	for at, t := range h.GetThreads() {
		text, why := it.thread(at)
		left[why]++
		name := ThreadFact + t.GetName()
		if named[name]++; named[name] > 1 {
			name += fmt.Sprintf(" (%d)", named[name])
		}
		threads = append(threads, Fact{name, text})
	}
	for _, why := range leftOut {
		facts = append(facts, Fact{LeftOut + why, left[why]})
	}
	facts = append(append(facts, threads...), partFacts(s)...)
	return Explanation{Rule: "hang/" + hangs[i].name, Reason: hangs[i].doc, Facts: facts}
}

func (h hung) deadlocked() bool { return h.hang.GetCause() == "deadlock" && len(h.cycles) > 0 }

// best returns the rank of the threads that are blamed where nothing else is known.
func (h hung) best() rank {
	best := idle
	for at, t := range h.hang.GetThreads() {
		if slices.Contains(h.places, h.place(at)) {
			best = min(best, rankOf(t, h.holds[at]))
		}
	}
	return best
}

// place returns what the i-th thread's part of the signature is, or would be; "" for none.
func (h hung) place(i int) string {
	t := h.hang.GetThreads()[i]
	switch {
	case h.deadlocked():
		if slices.ContainsFunc(h.cycles, func(c []int) bool { return slices.Contains(c, i) }) {
			return deadlockWaiter(h.hang.GetThreads(), h.waits, i)
		}
		return ""
	case nativeCause(h.hang.GetCause()):
		return place(h.hang.GetCause(), t, h.most)
	case h.shown && h.hang.GetCause() == threaddump.CauseCarriers:
		return carried(t)
	case h.shown:
		if p := initialiser(t); p != "" {
			return p
		}
		return waiter(t) + signature.WaitsFor + t.GetWaitsFor()
	}
	return waiter(t)
}

// thread says what was seen of a thread, and whether it is blamed; why is empty if it is.
func (h hung) thread(i int) (text, why string) {
	t := h.hang.GetThreads()[i]
	text = fmt.Sprintf("%d native and %d Java frames", len(t.GetNativeFrames()), len(t.GetJavaFrames()))
	if t.GetRunning() > 0 {
		text += fmt.Sprintf(", ran %.2f of the time", t.GetRunning())
	}
	if t.GetHeldBy() != "" {
		text += fmt.Sprintf(", waits for %s held by %s", t.GetWaitsFor(), t.GetHeldBy())
	}
	p := h.place(i)
	switch {
	case p != "" && slices.Contains(h.places, p):
		return text + "; blamed: " + p, ""
	case housekeeping(t) && (i > 0 || !nativeCause(h.hang.GetCause())):
		why = ofTheJVM
	case h.deadlocked() && p != "":
		why = otherCycle
	case h.deadlocked():
		why = notInCycle
	case samples(t) && !h.holds[i]:
		why = ofSampler
	case nativeCause(h.hang.GetCause()):
		why = elsewhere
	case p == "":
		why = unknownAt
	default:
		why = cmp.Or(rankReasons[rankOf(t, h.holds[i])], beyond)
	}
	return text + "; " + LeftOut + why, why
}
