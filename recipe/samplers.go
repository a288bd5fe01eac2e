package recipe

// samplersRules are the rules of the check samplers; the code is in runner/judge/samplers.
var samplersRules = []Word{
	{
		"between-samples",
		"the sample has some of what the neighbouring samples have in common: the thread may have left the others and come back",
		"measured: docs/figures/0013-recordings.md",
	},
	{
		"tiny-overlap",
		"the same, and the sample has at most a tenth of that, or that is at most a tenth of the sample: counted apart, because " +
			"frames that are lost in the middle look so, too",
		"seed: validation-agent; measured: docs/figures/0013-recordings.md",
	},
	{
		"another-entry",
		"the bottom is another than the neighbours', and Thread.getAllStackTraces() has seen it on that thread, too: native code " +
			"enters Java more than once",
		"JNI: CallStaticVoidMethod; HotSpot javaThread.cpp",
	},
	{
		"span-edge",
		"a sample within 10 ms of the begin or end of the time that a stack stood agrees with it from the bottom up to a frame: " +
			"the thread comes or goes, and the clocks of recording and program differ",
		"HotSpot jfrChunk.cpp, async-profiler flightRecorder.cpp: the begin of a recording has two clocks",
	},
}

// samplersReasons are the reasons for which that check is void.
var samplersReasons = []Word{
	{"no-stack", "the sample has no stack trace, or no Java frame", "JEP 509: failed"},
	{"incomplete", "async-profiler says that the trace does not go on", "async-profiler profiler.cpp, stackWalker.cpp: BCI_ERROR"},
	{
		"no-neighbour", "no other sampler has usable samples of the thread both before and after this one",
		"the samplers' intervals",
	},
	{
		"no-common-part",
		"the neighbouring samples have nothing in common: one of them is wrong, which is judged by its own neighbours",
		"the bottom of a thread's stack",
	},
}
