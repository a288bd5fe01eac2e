package recipe

// Words of the checks that compare samples with the shadow of their signal.
var (
	shadowRules = []Word{
		{
			"deoptimised-index",
			"async-profiler's vm or vmx wrote the index 0 for a caller that was deoptimised during its call: it found no debug " +
				"information at the deoptimisation entry, to which the caller's return address points; the methods agree",
			"async-profiler stackWalker.cpp: walkVM; HotSpot frame.cpp: deoptimize",
		},
		{
			"safepoint-bias",
			"the thread walked its stack at a safepoint after the signal: what is above the compiled frame that ran may have " +
				"changed, all below it agrees; by any number of calls where the sample says that it is biased",
			"JEP 518; HotSpot jfrThreadSampling.cpp: compute_top_frame",
		},
	}
	shadowReasons = []Word{
		{
			"no-signal",
			"no call of a signal handler of the sampler's was noted at the sample's time: it was taken without a signal of a " +
				"thread that ran around it, or before the tap was in place, or the call was lost",
			"HotSpot jfrThreadSampler.cpp: threads in native code get no signal",
		},
		{"ambiguous", "several calls, or several samples of one call, have that time", "a call takes at most one sample"},
		{
			"clock", "most samples lie in no call, however the recording's clock is set against the tap's",
			"both read one counter: HotSpot ticks.cpp, async-profiler tsc.cpp",
		},
		{
			"undecided",
			"an execution sample of a place that the thread may have reached before it walked its stack, at a safepoint: it " +
				"begins at an interpreted frame far below the newest entries, or has many calls more; such a sample does not " +
				"say whether it is biased",
			"JEP 518; HotSpot jfrSampleRequest.cpp: build_from_context, set_biased_java_sample",
		},
		{
			"no-shadow",
			"a thread of Java that has no shadow stack yet or any more, or a thread whose stack has frames of Java although " +
				"nobody has seen it run Java; one without such frames is judged",
			"the tap's flags; the recording's thread ids",
		},
	}
)
