package triage

import (
	"slices"
	"strings"

	"misstep/internal/threaddump"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// initialisers returns the parts of the signature of a hang in which threads wait for the initialisation of a class: where those
// are that initialise one, and which. Which threads need the class differs from run to run; they are named if it is not known who
// initialises it.
func initialisers(threads []*misstepv1.HungThread) (places []string) {
	waits := newWaits(threads)
	for _, t := range threads {
		place := waiter(t)
		if place != "" && t.GetWaitsFor() == threaddump.ClassOfClasses && t.GetHeldBy() == "" && t.GetHeldById() == 0 {
			places = append(places, place+signature.WaitsFor+threaddump.ClassOfClasses)
		}
	}
	owners := map[string]bool{}
	for i, t := range threads {
		if t.GetWaitsFor() != threaddump.ClassOfClasses || waits.next[i] < 0 {
			continue
		}
		if part := initialiser(threads[waits.end(i)]); part != "" {
			owners[part] = true
		}
	}
	if len(owners) > 0 {
		places = nil
		for part := range owners {
			places = append(places, part)
		}
	}
	slices.Sort(places)
	places = slices.Compact(places)
	return places[:min(len(places), maxWaiters)]
}

// initialiser returns the part of the signature of a thread that initialises a class, the innermost if it initialises several; ""
// if it initialises none.
func initialiser(t *misstepv1.HungThread) string {
	class := initialised(t)
	if class == "" {
		return ""
	}
	return waiter(t) + signature.Initialises + class
}

// initialised returns the innermost class that a thread initialises, "" for none.
func initialised(t *misstepv1.HungThread) string {
	for _, f := range t.GetJavaFrames() {
		if class, found := strings.CutSuffix(javaFrame(f), ".<clinit>"); found {
			return class
		}
	}
	return ""
}

// end returns the thread, by index, for which a thread waits in the end, itself if for none. It ends in a circle as well.
func (w waits) end(i int) int {
	for range w.next {
		if w.next[i] < 0 {
			break
		}
		i = w.next[i]
	}
	return i
}

// initialiserCycle reports whether threads of a deadlock wait for classes.
func (h hung) initialiserCycle() bool {
	if !h.deadlocked() {
		return false
	}
	for _, c := range h.cycles {
		if slices.ContainsFunc(c, func(i int) bool { return h.hang.GetThreads()[i].GetWaitsFor() == threaddump.ClassOfClasses }) {
			return true
		}
	}
	return false
}

// carried returns a thread's part of the signature of a hang in which virtual threads wait for a carrier: where a virtual thread is
// that has one, and the method that keeps it there, if it waits; "" for the others.
func carried(t *misstepv1.HungThread) string {
	if !mounted(t) {
		return ""
	}
	place := waiter(t)
	if pin := pinningFrame(t.GetJavaFrames()); pin != "" {
		place += signature.PinnedBy + pin
	}
	return place
}

// mounted reports whether a virtual thread has a carrier. The state is that of a dump of Thread.dump_to_file, which lists them all.
func mounted(t *misstepv1.HungThread) bool {
	if !t.GetVirtual() || len(t.GetJavaFrames()) == 0 {
		return false
	}
	if t.GetTid() != 0 || slices.ContainsFunc(t.GetJavaFrames(), parkedOnCarrier) {
		return true
	}
	top := javaFrame(t.GetJavaFrames()[0])
	return t.GetState() == "RUNNABLE" || t.GetState() == "" && !strings.HasPrefix(top, "java.lang.VirtualThread.")
}

func parkedOnCarrier(frame string) bool {
	return javaFrame(frame) == "java.lang.VirtualThread.parkOnCarrierThread"
}

// pinningFrame returns the method for which a waiting virtual thread cannot leave its carrier: the first native method or class
// initialiser below the frames that wait; "" if it does not wait, or for a monitor (21 to 23), which frames do not show.
func pinningFrame(frames []string) string {
	at := slices.IndexFunc(frames, parkedOnCarrier)
	if at < 0 {
		return ""
	}
	for _, f := range frames[at+1:] {
		method := javaFrame(f)
		ofThread := strings.HasPrefix(method, "java.lang.VirtualThread.") || strings.HasPrefix(method, "jdk.internal.vm.")
		if !ofThread && (strings.HasSuffix(method, ".<clinit>") || strings.Contains(f, "Native Method)")) {
			return method
		}
	}
	return ""
}

// shownBy returns the places of a hang whose cause a dump shows by itself; ok is false for other causes and if it has none.
func shownBy(h *misstepv1.Hang) (places []string, ok bool) {
	switch h.GetCause() {
	case threaddump.CauseInitialisation:
		places = initialisers(h.GetThreads())
	case threaddump.CauseCarriers:
		for _, t := range h.GetThreads() {
			if p := carried(t); p != "" && !slices.Contains(places, p) {
				places = append(places, p)
			}
		}
		slices.Sort(places)
		places = places[:min(len(places), maxWaiters)]
	}
	return places, len(places) > 0
}
