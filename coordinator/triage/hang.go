package triage

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// maxWaiters bounds the places in a hang's signature.
const maxWaiters = 4

// spinning is the share of the busiest thread's time on a CPU from which on a thread is taken to run all the time; on a loaded
// machine none runs for half of a look.
const spinning = 0.5

// Hang returns the signature of a hang and a title: its cause and the threads that are to blame, grouped by place, since pools
// have any number of alike threads. In a walk or in the agent those are the threads that are there; in a deadlock those that
// wait for each other; for a safepoint that is not reached those that run; otherwise all of the application.
func Hang(h *misstepv1.Hang) (*misstepv1.Signature, string) {
	cause := h.GetCause()
	if cause == "deadlock" &&
		!slices.ContainsFunc(h.GetThreads(), func(t *misstepv1.HungThread) bool { return t.GetHeldBy() != "" }) {
		cause = "" // who waits for whom is not known: all threads of the application
	}
	most := 0.0
	for _, t := range h.GetThreads() {
		if !housekeeping(t.GetName()) {
			most = max(most, t.GetRunning())
		}
	}
	var places []string
	for i, t := range h.GetThreads() {
		if i > 0 && housekeeping(t.GetName()) { // the first one of a hang in a walk is the culprit
			continue
		}
		if p := place(cause, t, most); p != "" && !slices.Contains(places, p) {
			places = append(places, p)
		}
	}
	slices.Sort(places)
	if len(places) > maxWaiters {
		places = places[:maxWaiters]
	}
	title := "hang: " + h.GetCause()
	if len(places) > 0 {
		title = fmt.Sprintf("hang (%s): %s", h.GetCause(), places[0])
	}
	return signature.Proto(signature.Hang{Cause: h.GetCause(), Waiters: places}), signature.Clean(title)
}

// place is what a thread adds to the signature, "" for nothing. most is the share of the time that the busiest thread ran.
func place(cause string, t *misstepv1.HungThread, most float64) string {
	switch cause {
	case "in-walk", "in-agent":
		chain := walkChain(t.GetNativeFrames())
		if chain == "" {
			return ""
		}
		return who(t) + " in " + chain
	case "starved":
		return "" // whom the scheduler forgot is no matter of theirs
	case "safepoint":
		// The JVM did not stop, so there are no Java stacks: who kept running is to blame.
		if t.GetRunning() == 0 || t.GetRunning() < spinning*most || housekeeping(t.GetName()) {
			return ""
		}
		for _, f := range t.GetNativeFrames() {
			if fn := nativeName(f); fn != "" {
				return who(t) + " runs in " + fn
			}
		}
		return who(t) + " runs"
	case "deadlock":
		if t.GetHeldBy() == "" {
			return "" // it waits for the deadlock's threads, or for something else
		}
		return who(t) + " at " + javaPlace(t) + signature.WaitsFor + signature.Class(t.GetWaitsFor()) +
			signature.HeldBy + who(&misstepv1.HungThread{Name: t.GetHeldBy()})
	}
	if housekeeping(t.GetName()) {
		return ""
	}
	if p := javaPlace(t); p != "" {
		return who(t) + " at " + p
	}
	if chain := walkChain(t.GetNativeFrames()); chain != "" {
		return who(t) + " in " + chain
	}
	return ""
}

// javaPlace is the first frame that is not only the means of waiting, else the top one; "" without Java frames.
func javaPlace(t *misstepv1.HungThread) string {
	for _, f := range t.GetJavaFrames() {
		if j := javaFrame(f); j != "" && !waiting(j) {
			return j
		}
	}
	if len(t.GetJavaFrames()) > 0 {
		return javaFrame(t.GetJavaFrames()[0])
	}
	return ""
}

// walkChain is the walker's frames of a native stack, from what it waits in to its entry; "" when it is in no walker.
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

// nativeName takes the function out of a line of gdb or hs_err; "" when it is not known. Of hs_err's, the library stands for
// one of the VM that is not.
func nativeName(line string) string {
	f := signature.ParseFrame(line)
	if f.Kind != signature.VMFrame && f.Kind != signature.CFrame {
		f = signature.ParseGDBFrame(line)
		return signature.WithoutNumbers(f.FunctionName())
	}
	_, name, _ := strings.Cut(f.Normalised(), " ")
	return name
}

func libc(fn string) bool {
	for _, p := range []string{
		"__", "pthread_", "futex", "syscall", "nanosleep", "clock_nanosleep", "clone",
		"start_thread", "sched_yield", "poll", "epoll_wait", "read", "write", "<signal handler called>",
	} {
		if strings.HasPrefix(fn, p) {
			return true
		}
	}
	return false
}

var trailingNums = regexp.MustCompile(`[-_ #]*\d+`)

// javaFrame normalises a line of a thread dump, "at java.base@17/java.lang.Object.wait(Native Method)" to
// "java.lang.Object.wait".
func javaFrame(s string) string {
	f, _ := signature.ParseJavaFrame(s)
	return f.MethodName()
}

// waiting says that a frame is only the means of waiting; who called it is where the thread waits.
func waiting(f string) bool {
	for _, p := range []string{
		"java.lang.Object.wait", "jdk.internal.misc.Unsafe.park", "java.util.concurrent.locks.", "java.lang.Thread.sleep",
		"java.lang.Thread.join", "java.util.concurrent.ForkJoinPool.managedBlock",
		"java.util.concurrent.ForkJoinPool.unmanagedBlock",
	} {
		if strings.HasPrefix(f, p) {
			return true
		}
	}
	return false
}

// housekeeping threads of the JVM wait always and say nothing.
func housekeeping(name string) bool {
	for _, p := range []string{
		"Reference Handler", "Finalizer", "Signal Dispatcher", "Service Thread", "Monitor Deflation", "Common-Cleaner",
		"Notification Thread", "Attach Listener", "C1 CompilerThre", "C2 CompilerThre",
		"Sweeper thread", "VM Periodic", "VM Thread", "G1 ", "GC Thread", "misstep",
	} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// who is a thread's name without the numbers that pools give.
func who(t *misstepv1.HungThread) string {
	n := strings.TrimSpace(trailingNums.ReplaceAllString(t.GetName(), ""))
	if n == "" {
		n = "thread"
	}
	return n
}
