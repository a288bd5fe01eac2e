package chunks

import (
	"slices"
	"strings"

	"misstep/recipe"
	"misstep/runner/recording"
)

// writtenInJava are the JDK's events with stack traces that Java code writes (jdk.jfr.events, jdk.internal.event of 8 to 28).
var writtenInJava = []string{
	"jdk.Deserialization", "jdk.FileForce", "jdk.FileRead", "jdk.FileWrite", "jdk.JavaErrorThrow", "jdk.JavaExceptionThrow",
	"jdk.MethodTrace", "jdk.ProcessStart", "jdk.SecurityPropertyModification", "jdk.SecurityProviderService",
	"jdk.SerializationMisdeclaration", "jdk.SocketRead", "jdk.SocketWrite", "jdk.TLSHandshake", "jdk.ThreadSleep",
	"jdk.VirtualThreadEnd", "jdk.VirtualThreadStart", "jdk.VirtualThreadSubmitFailed", "jdk.X509Certificate", "jdk.X509Validation",
}

// javaEvent reports whether Java code writes the events of a type. Those of programs are events of that kind.
func javaEvent(name string) bool {
	return !strings.HasPrefix(name, "jdk.") || slices.Contains(writtenInJava, name)
}

// early are the Java events of a chunk that ended before it began, each by the constant of its thread. An event gets its end, then
// its stack trace and its fields; if a safepoint rotates the chunk in between, the writer begins again in the new one, and the end
// stays (jdk.jfr EventWriter.java, endEvent). A thread writes one event at a time, so it has at most one of them in a chunk.
type early struct {
	threads map[string][]uint64 // by the events' type
	events  map[uint64]int      // by thread, of all types
	// windows are those that need the rule.
	windows []*recording.Window
}

func newEarly() early { return early{threads: map[string][]uint64{}, events: map[uint64]int{}} }

// event notes an event with a stack trace.
func (y *early) event(c *recording.Chunk, e *recording.Event) {
	if c == nil || e.Thread == nil || e.StartNanos+e.DurationNanos >= c.StartNanos || !javaEvent(e.Type) {
		return
	}
	y.threads[e.Type] = append(y.threads[e.Type], e.Thread.Constant)
	y.events[e.Thread.Constant]++
}

// inFlight reports whether each early event of a type is the only one of its thread.
func (y *early) inFlight(name string) bool {
	threads := y.threads[name]
	return len(threads) > 0 && !slices.ContainsFunc(threads, func(id uint64) bool { return y.events[id] > 1 })
}

// settle judges what the chunk lacks, and the windows that begin before it, when all of the chunk was read.
// next is the chunk that begins, nil at the end.
func (j *Judge) settle(next *recording.Chunk) {
	j.settleLate(next)
	j.settleClock()
	j.undefined()
	for _, w := range j.early.windows {
		if j.early.inFlight(w.Type) {
			j.tolerate(1, recipe.RuleEndedBeforeRotation)
			continue
		}
		j.untimely(w, sideBefore, -w.FirstNanos)
	}
	j.early = newEarly()
}
