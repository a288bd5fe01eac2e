package chunks

import (
	"slices"
	"strings"
	"time"

	"misstep/recipe"
	"misstep/runner/recording"
)

// Constants whose definitions may differ within a chunk.
const (
	threadType = "java.lang.Thread"
	headerType = "jdk.types.ChunkHeader"
)

// nameFields of a thread are read whenever the thread is written, which is when it starts or ends, and when a chunk begins or ends
// (HotSpot jfrThreadState.cpp, JfrThreadName; jfrThreadGroup.cpp). Its ids never change.
var nameFields = []string{"osName", "javaName", "group"}

// MayDiffer reports whether a rule permits an id to be defined with other contents.
func MayDiffer(d *recording.Differing) bool { return differenceRule(d) != "" }

// differenceRule returns the rule that permits an id to be defined with other contents, or "".
func differenceRule(d *recording.Differing) string {
	switch d.Type {
	case headerType:
		return recipe.RuleFlushedHeader
	case threadType:
		if !slices.ContainsFunc(strings.Split(d.Fields, ","), func(f string) bool { return !slices.Contains(nameFields, f) }) {
			return recipe.RuleRenamedThread
		}
	}
	return ""
}

// sampled are the events that have the time of the request, and are written after the walk: from JDK 25 on when the thread walks
// its own stack at its next safepoint (HotSpot jfrThreadSampling.cpp, record_thread_in_java).
var sampled = []string{"jdk.ExecutionSample", "jdk.NativeMethodSample", "jdk.CPUTimeSample"}

// transitioning are the events whose time is taken some time before they are written (HotSpot jfrEvent.hpp, should_commit). A
// compiler thread runs in native code, which no safepoint stops: it asks for the time, then enters the VM to commit a compilation
// or an inlining, where the rotation's safepoint may hold it, or commits a phase or a failure as it is (compilerEvent.cpp). A
// thread dump has the time before the operation of the VM that makes it (jfrPeriodic.cpp, ThreadDump). Datadog's profiler writes
// objects that live with the time of their allocation, and a round of samples with that of its beginning (DataDog/java-profiler
// livenessTracker.cpp, flush_table; flightRecorder.cpp, recordWallClockEpoch, whose duration is in other units).
var transitioning = []string{
	"jdk.Compilation", "jdk.CompilerPhase", "jdk.CompilerInlining", "jdk.CompilationFailure", "jdk.ThreadDump",
	"datadog.HeapLiveObject", "datadog.WallClockSamplingEpoch",
}

// collected are the phases of a garbage collection. The collector keeps them until its end, and writes each with its own end then
// (HotSpot gcTraceSend.cpp: PhaseSender), so that chunks may have begun meanwhile.
const collected = "jdk.GCPhase"

// deprecated is the event of calls of deprecated methods. Rotations write all of them that have been since the JVM began, with the
// time at which they do so (HotSpot jfrDeprecationEventWriter.cpp: write_event).
const deprecated = "jdk.DeprecatedInvocation"

// millisecond is that of the clock, in nanoseconds; rounding is how far a chunk's times may be from whole ones: before JDK 14
// milliseconds are multiplied by a double (HotSpot jfrChunkState.cpp, update_start_nanos; jfrTimeConverter.cpp,
// NANOS_PER_MILLISEC), whose values are 256 apart near the nanoseconds since the epoch. async-profiler's are whole microseconds.
const (
	millisecond = int64(time.Millisecond)
	rounding    = 256
	microsecond = int64(time.Microsecond)
)

// wholeMilliseconds reports whether a time is from the clock in milliseconds.
func wholeMilliseconds(nanos int64) bool {
	return (nanos%millisecond+rounding+millisecond)%millisecond <= 2*rounding
}

// timeRule returns the rule that permits events to end outside of their chunk, or "".
func timeRule(c *recording.Chunk, w *recording.Window, field string, outside int64) string {
	switch {
	case wholeMilliseconds(c.StartNanos) && wholeMilliseconds(c.DurationNanos) && outside < millisecond:
		return recipe.RuleMillisecondClock
	case c.StartNanos%microsecond == 0 && c.DurationNanos%microsecond == 0 && outside < microsecond:
		return recipe.RuleMicrosecondClock
	case field == sideBefore && slices.Contains(sampled, w.Type):
		return recipe.RuleSampledBeforeRotation
	case field == SideAfter && w.Type == deprecated:
		return recipe.RuleWrittenAtRotation
	case field == sideBefore && (slices.Contains(transitioning, w.Type) || strings.HasPrefix(w.Type, collected)):
		return recipe.RuleEndedBeforeRotation
	}
	return ""
}
