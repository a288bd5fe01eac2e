package recipe

// Words of jfr-chunks.
const (
	KindUndefinedConstant = "undefined-constant"
	KindDuplicateID       = "duplicate-id"
	KindEventTime         = "event-time"
	KindChunkOrder        = "chunk-order"
	KindChunkLayout       = "chunk-layout"

	RuleRenamedThread         = "renamed-thread"
	RuleFlushedHeader         = "flushed-header"
	RuleUnfinishedChunk       = "unfinished-chunk"
	RuleMillisecondClock      = "millisecond-clock"
	RuleSampledBeforeRotation = "sampled-before-rotation"
	RuleEndedBeforeRotation   = "ended-before-rotation"
	RuleWrittenAtRotation     = "written-at-rotation"
	RuleAnotherClock          = "another-clock"
	RuleMicrosecondClock      = "microsecond-clock"
	RuleWallClock             = "wall-clock"
)

var (
	chunkKinds = []Word{
		{
			KindUndefinedConstant, "an event or a constant refers to a constant that its chunk does not define",
			"JFR's chunks are self-contained: HotSpot jfrTraceIdEpoch.hpp",
		},
		{
			KindDuplicateID, "a chunk defines one id twice, with contents that say different things", "HotSpot jfrTypeSet.cpp",
		},
		{
			KindEventTime, "an event ended before its chunk began, or after it ended",
			"HotSpot jfrRecorderService.cpp: an event is in the chunk that is open when it is committed",
		},
		{
			KindChunkOrder, "a chunk begins before the one before it has ended, or its header's times are impossible",
			"HotSpot jfrChunk.cpp",
		},
		{
			KindChunkLayout,
			"sizes, checkpoints, metadata or fields of a finished chunk do not fit together, or JDK Mission Control cannot read it",
			"HotSpot jfrChunkWriter.cpp, jfrCheckpointManager.cpp",
		},
	}
	chunkRules = []Word{
		{
			RuleRenamedThread,
			"a thread is defined again with another name or group: it was renamed, or has ended, within the chunk",
			"HotSpot jfrThreadState.cpp, jfrThreadGroup.cpp: a thread's name and group are read when it is written",
		},
		{
			RuleFlushedHeader, "JFR writes a chunk's header as a constant at each flush",
			"HotSpot jfrChunkWriter.cpp (write_chunk_header_checkpoint), from JDK 14 on",
		},
		{
			RuleUnfinishedChunk, "the recorder had not finished the chunk: what it had not yet written is missing",
			"HotSpot jfrChunkWriter.cpp: the header's state",
		},
		{
			RuleMillisecondClock, "the chunk's times are whole milliseconds: an event may be less than one of them outside",
			"HotSpot jfrChunkState.cpp and jfrTimeConverter.cpp before JDK 14; measured on 8 and 11",
		},
		{
			RuleMicrosecondClock, "the chunk's times are whole microseconds: an event may be less than one of them outside",
			"async-profiler flightRecorder.cpp; measured on that of dd-java-agent 1.68.1",
		},
		{
			RuleSampledBeforeRotation,
			"a sample has the time of its request; the thread walks its stack at its next safepoint, after the rotation",
			"JEP 518, JEP 509; HotSpot jfrThreadSampling.cpp",
		},
		{
			RuleEndedBeforeRotation,
			"an event has its time before it is written, and a chunk began in between: events of compiler threads, thread dumps, " +
				"phases of a garbage collection, and of each thread one event that Java code writes; Datadog's of live objects " +
				"and of rounds of wall-clock samples",
			"HotSpot jfrEvent.hpp, compilerEvent.cpp, jfrPeriodic.cpp, gcTraceSend.cpp; jdk.jfr EventWriter.java; measured on " +
				"21, 25 and 28; DataDog/java-profiler livenessTracker.cpp, flightRecorder.cpp",
		},
		{
			RuleWrittenAtRotation, "the rotation itself writes the event, with the time at which it does so",
			"HotSpot jfrDeprecationEventWriter.cpp, from JDK 22 on",
		},
		{
			RuleWallClock,
			"events end behind the duration in the chunk's header and before the ticks of the next chunk (of the last one: " +
				"within what clocks part in that time), or before JDK 14 a chunk begins before the end of the one before it, but " +
				"not by its ticks: the header's times are of the wall clock, which is coarse, corrected or set back",
			"HotSpot jfrChunk.cpp: set_time_stamp, nanos_now; jfrChunkState.cpp before JDK 14",
		},
		{
			RuleAnotherClock,
			"the clock of the chunk began at another time than that of the chunk before: another recorder or JVM wrote it, or " +
				"the system's clock was set: their times cannot be compared. Ticks of one recorder in one JVM never go back",
			"dd-java-agent 1.68.1 appends the chunks of its profiler, by the machine's clock, to JFR's, by the JVM's",
		},
	}
)

func wordNames(words []Word) []string {
	out := make([]string, 0, len(words))
	for _, w := range words {
		out = append(out, w.Name)
	}
	return out
}
