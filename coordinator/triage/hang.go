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

// spinning is the share of the busiest thread's CPU time from which a thread is considered to run all the time; on a loaded machine
// no thread runs for half of the observed time.
const spinning = 0.5

// Hang returns the signature of a hang and a title: its cause and the threads to blame, grouped by place, since pools have any
// number of equal threads. For a hang in a walk or in the agent those are the threads in it; in a deadlock those that wait for each
// other; for a safepoint that is not reached the running ones; otherwise all threads of the application.
func Hang(h *misstepv1.Hang) (*misstepv1.Signature, string) {
	cause := h.GetCause()
	if cause == "deadlock" &&
		!slices.ContainsFunc(h.GetThreads(), func(t *misstepv1.HungThread) bool { return t.GetHeldBy() != "" }) {
		cause = "" // it is not known which thread waits for which: all threads of the application
	}
	most := 0.0
	for _, t := range h.GetThreads() {
		if !housekeeping(t.GetName()) {
			most = max(most, t.GetRunning())
		}
	}
	var places []string
	for i, t := range h.GetThreads() {
		if i > 0 && housekeeping(t.GetName()) { // the first thread of a hang in a walk is the culprit
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

// place returns a thread's part of the signature, "" for none. most is the share of the time that the busiest thread ran.
func place(cause string, t *misstepv1.HungThread, most float64) string {
	switch cause {
	case "in-walk", "in-agent":
		chain := walkChain(t.GetNativeFrames())
		if chain == "" {
			return ""
		}
		return who(t) + " in " + chain
	case "starved":
		return "" // it does not depend on the threads which of them the scheduler starves
	case "safepoint":
		// The JVM did not stop, so there are no Java stacks: the threads that kept running are to blame.
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

// javaPlace returns the first frame that does not merely implement waiting, else the top one; "" without Java frames.
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

// waiting reports whether a frame merely implements waiting; the thread waits in its caller.
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

// housekeeping reports whether a thread is one of the JVM's own that always wait, which is not informative.
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

// who returns a thread's name without the numbers that pools assign.
func who(t *misstepv1.HungThread) string {
	n := strings.TrimSpace(trailingNums.ReplaceAllString(t.GetName(), ""))
	if n == "" {
		n = "thread"
	}
	return n
}
