package recipe

import "slices"

const sharesOfSamples = "the recording's samples"

// ofRecordings are the checks that are made after the trial, from the recording that a profiler left. Their judges are below
// runner/judge.
var ofRecordings = []Check{
	{
		Word: Word{
			JfrShadow,
			"each sample of JFR: its stack trace compared with the shadow stack, copied in the signal in which JFR took it or, " +
				"in native code, while the thread does not run",
			"HotSpot jfrThreadSampler.cpp, jfrCPUTimeThreadSampler.cpp; JEP 509, JEP 518",
		},
		Slot: NoSlot, Methods: true, Tap: true, Profilers: []string{ProfilerJFR}, Share: 1, ShareOf: sharesOfSamples,
		Least:   leastCompared,
		Suspect: SamplerJFR, Trusted: ShadowStack, At: "sample",
		Expected: "the stack trace of a JFR sample has the frames that were entered and not left when it was taken, in order.",
		Rules: []string{
			"constructor-prologue", "push-pop-window", "inline-imprecision", "top-frame-missing", "null-method-id", "depth-limit",
			"safepoint-bias",
		},
		Kinds: []string{"truncated", "missing", "extra", "foreign", "wrong-method"},
		Reasons: []string{
			"no-signal", "ambiguous", "clock", "undecided", "no-shadow", "depth", "virtual-thread", "unknown-method",
		},
	},
	{
		Word: Word{
			ProfilerShadow,
			"each sample of async-profiler: its stack trace compared with the shadow stack, copied in the same signal",
			"async-profiler profiler.cpp, stackWalker.cpp",
		},
		Slot: NoSlot, Methods: true, Tap: true, Profilers: []string{ProfilerAsync}, Share: 1, ShareOf: sharesOfSamples,
		Least:   leastCompared,
		Suspect: SamplerAsync, Trusted: ShadowStack, At: "sample",
		Expected: "the stack trace of a sample has the frames that were entered and not left when it was taken, in order.",
		Rules: []string{
			"constructor-prologue", "push-pop-window", "inline-imprecision", "top-frame-missing", "null-method-id", "depth-limit",
			"deoptimised-index",
		},
		Kinds:   []string{"truncated", "missing", "extra", "foreign", "wrong-method"},
		Reasons: []string{"no-signal", "ambiguous", "clock", "no-shadow", "depth", "virtual-thread", "unknown-method"},
	},
	{
		Word: Word{
			Samplers,
			"each sample of a thread: compared with what another sampler's samples before and after have in common, " +
				"which is weak; with the stack that the workload says to stand still (workload still), and with other walks " +
				"while the thread does not run by its CPU time, which is exact",
			"seed: validation-agent; measured: docs/figures/0013-recordings.md",
		},
		Slot: NoSlot, Stacks: true, Profilers: anyProfiler, Share: 1, ShareOf: sharesOfSamples,
		Least:    leastCompared,
		Suspect:  "every sampler",
		Trusted:  "another sampler's neighbouring samples, another walk of a thread that does not run, a stack that stands still",
		At:       "sample",
		Expected: "samplers of one thread agree in the frames that stay between their samples.",
		Rules:    []string{"between-samples", "tiny-overlap", "another-entry", "span-edge"},
		Kinds:    []string{"truncated", "missing", "extra", "foreign", "wrong-method", "wrong-bci"},
		Reasons: []string{
			"depth", "no-stack", "incomplete", "unknown-method", "no-neighbour", "no-common-part", "overrun",
		},
	},
	{
		Word: Word{
			JfrChunks,
			"each chunk of a recording by itself: what its events refer to is in it, once; sizes, times and checkpoints in " +
				"order",
			"HotSpot jfrTraceId.inline.hpp, jfrCheckpointManager.cpp, jfrChunkWriter.cpp",
		},
		Slot: NoSlot, Profilers: []string{ProfilerJFR}, Share: 1, ShareOf: "the recording's references and chunks",
		Least:   leastCompared,
		Suspect: SamplerJFR, Trusted: "the chunk itself", At: "the end of the trial",
		Expected: "every constant that an event of a chunk refers to is in that chunk, and means one thing.",
		Rules:    wordNames(chunkRules),
		Kinds:    wordNames(chunkKinds),
	},
	{
		Word: Word{
			EventEdges, "every stack trace of every event: the instruction at a frame's bci can have called the frame above",
			"JVMS 5 and 6.5; upcalls: HotSpot vmSymbols.hpp",
		},
		Slot: NoSlot, Sites: true, Profilers: anyProfiler, Share: 1, ShareOf: "the edges of the recording's stack traces",
		Least:   leastCompared,
		Suspect: "every sampler", Trusted: "bytecode", At: "wherever an event has a stack trace",
		Expected: "each frame of an event's stack trace has been called by the instruction at the bci of the frame below.",
		Rules:    []string{"vm-upcall", "method-handle", "native-caller", "stack-filter", "retransformed"},
		Kinds:    []string{"impossible-edge"},
		Reasons:  []string{"unknown-method"},
	},
}

// recordedRules, recordedReasons and recordedKinds are words of these checks that are no words of the agent's.
var (
	recordedRules   = slices.Concat(shadowRules, chunkRules, samplersRules, edgesRules)
	recordedReasons = slices.Concat(shadowReasons, samplersReasons)
	recordedKinds   = chunkKinds
)
