package agent

// Word is one word of a verdict with its meaning.
type Word struct {
	Name string `json:"name"`
	// Meaning in one line.
	Meaning string `json:"meaning"`
	// Source of it: the specification, a HotSpot file, a JBS id or where it was measured.
	Source string `json:"source"`
}

// Catalogue is what the agent can say: its checks, and the words of their verdicts.
type Catalogue struct {
	Checks []Word `json:"checks"`
	// Rules tolerate a difference; Reasons make a check void; Kinds name a mismatch; Codes are ASGCT's errors, which are counted as
	// unwalkable.
	Rules   []Word `json:"rules"`
	Reasons []Word `json:"reasons"`
	Kinds   []Word `json:"kinds"`
	Codes   []Word `json:"codes"`
}

// Words gives the catalogue. verdict.h has the names, in the same order; catalogue_test.go holds both together.
func Words() Catalogue {
	return Catalogue{
		Checks: []Word{
			{"gst-asgct", "at method entries: GetStackTrace and AsyncGetCallTrace of the own thread are equal, methods and bcis", "DESIGN: measured exact on 17 and 25"},
			{"shadow-gst", "at method entries: the shadow stack of instrumented methods is what GetStackTrace shows of them", "trace_validation's first layer"},
			{"asgct-shadow", "in a signal: AsyncGetCallTrace against the shadow stack copied in the same handler, from the bottom", "trace_validation's asynchronous layer"},
			{"asgct-gst-bracket", "a signal, GetStackTrace at the next safepoint, a signal: what byte code does not let a thread do in between; instruments nothing", "byte code: JVMS 6.5; threads: HotSpot javaThread.cpp"},
			{"edges", "on every trace of the others: the instruction at a frame's bci can have called the frame above", "JVMS 5 and 6.5; upcalls: HotSpot vmSymbols.hpp"},
			{"liveness", "no thread stays in ASGCT, a handler or the agent beyond its limit, seen from inside and outside", "Broman's rules for walking another thread's stack"},
		},
		Rules: []Word{
			{"constructor-prologue", "a frame is below its push: a constructor evaluates arguments of this() or super()", "JVMS 4.10.2.4: no code may use this before"},
			{"push-pop-window", "the method is between its entry and its push, or between its pop and its return", "the instrumentation's own code"},
			{"inline-imprecision", "another position of the same compiled code explains the top: debug info lies between", "JDK-8022893; HotSpot pc_desc_near"},
			{"top-frame-missing", "one physical frame is missing on top while pc is in code that is no Java method", "JDK-8178287; HotSpot forte.cpp"},
			{"virtual-thread", "AsyncGetCallTrace goes on through Continuation.enterSpecial into the carrier; in samples the carrier's own frames agree and those above are judged by edges alone", "JDK 21, JEP 444"},
			{"depth-limit", "a walk was cut at its depth limit, and what is there is equal", "AsyncGetCallTrace's contract"},
			{"null-method-id", "AsyncGetCallTrace had no jmethodID for a method; everything else agrees, in a bracket what is below", "HotSpot forte.cpp: find_jmethod_id"},
			{"retransformed", "the class got other code: a frame may run the version before, or has got another id between two walks", "JVMTI RetransformClasses"},
			{"retried", "equal when walked again after -2 or a missing jmethodID", "HotSpot forte.cpp: ticks_GC_active"},
			{"deopt-upcall", "-9 in Java code that the VM called in the middle of a deoptimisation, to load a class", "HotSpot deoptimization.cpp: load_class_by_index; forte.cpp: ticks_deopt"},
			{"moved", "the thread left a frame that both signals show and came back: a loop, or calls in turn, allow it", "JVMS 6.5: branches"},
			{"vm-upcall", "the VM may call this method from that instruction", "HotSpot vmSymbols.hpp"},
			{"method-handle", "a method handle's call of this shape", "JVMS 2.9.3"},
			{"native-caller", "a native method may call anything", "JNI"},
		},
		Reasons: []Word{
			{"lost", "the signal was not handled within half a second", "the sampler"},
			{"thread-end", "the thread ended first", "JVMTI ThreadEnd"},
			{"exit", "the VM died first", "JVMTI VMDeath"},
			{"walker-busy", "the signal met a walk of the same thread", "one walker at a time"},
			{"depth", "deeper than the shadow or the walk can hold", "the option depth"},
			{"unknown-method", "a method that no event has told of yet, or ever: once a class has got other code, of its old version's; else it is a mismatch", "JVMTI ClassPrepare"},
			{"unknown-code", "pc in code of which no CompiledMethodLoad event has told", "JVMTI CompiledMethodLoad"},
			{"virtual-thread", "a virtual thread may be mounted, or runs on its carrier's behalf: what is on whose shadow cannot be told", "JEP 444"},
			{"gst-error", "GetStackTrace failed or gave nothing", "JVMTI GetStackTrace"},
			{"overdue", "a thread was found in the agent for longer than five seconds; the watcher outside decides", "the option liveness"},
			{"send-failed", "the kernel refused the signal", "rt_tgsigqueueinfo(2)"},
			{"overrun", "the judge did not come by for too long, or it may rest on an event still to come and too many others wait for theirs", "32 samples of a thread in a turn, 4096 that wait"},
			{"no-bottom", "a bracket of a thread that was before or after its run or main or in a class initialiser, or has none of them: nothing says where its stack ends", "HotSpot javaThread.cpp, java.c"},
			{"no-slot", "a thread that has no shadow, once for each: there is room for 2048 at a time, and for 4096 virtual ones", "the log says so, too"},
			{"events-late", "a difference that may rest on compiled code of which the JVM had not told after five seconds: its compilers or its Service Thread had no processor", "HotSpot nmethod.cpp: post_compiled_method_load_event"},
		},
		Kinds: []Word{
			{"truncated", "the bottom of the stack is lost without an error code; the record names a deoptimised caller at which that happened", "JDK-8303444, MISSTEP-deoptimised-caller"},
			{"missing", "frames are missing in the middle or on top", "JDK-8178287"},
			{"extra", "there are frames too many", "epilogues: pc after the frame was given back"},
			{"foreign", "nothing or little of it is this stack", "epilogues, stale frame pointers"},
			{"wrong-method", "one frame is another method", "JDK-8022893"},
			{"wrong-bci", "one frame has a bci that it cannot have", "debug info"},
			{"code", "an error code that the contract does not have, or not there", "HotSpot forte.cpp"},
			{"impossible-edge", "a frame stands on an instruction that cannot have called the frame above", "JVMS 6.5"},
		},
		Codes: []Word{
			{"0", "no Java frame", "HotSpot forte.cpp: ticks_no_Java_frame"},
			{"-1", "class load events are off", "HotSpot forte.cpp: ticks_no_class_load"},
			{"-2", "a GC is active", "HotSpot forte.cpp: ticks_GC_active"},
			{"-3", "not in Java, top frame unknown", "HotSpot forte.cpp: ticks_unknown_not_Java"},
			{"-4", "not in Java, not walkable", "HotSpot forte.cpp: ticks_not_walkable_not_Java"},
			{"-5", "in Java, top frame unknown", "HotSpot forte.cpp: ticks_unknown_Java"},
			{"-6", "in Java, not walkable", "HotSpot forte.cpp: ticks_not_walkable_Java"},
			{"-7", "the thread is in no known state", "HotSpot forte.cpp: ticks_unknown_state"},
			{"-8", "the thread exits, or is no Java thread", "HotSpot forte.cpp: ticks_thread_exit"},
			{"-9", "the thread deoptimises", "HotSpot forte.cpp: ticks_deopt"},
			{"-10", "the thread is at a safepoint; defined and not used", "HotSpot forte.cpp: ticks_safepoint"},
		},
	}
}

// Option is one option of the agent.
type Option struct {
	Key string `json:"key"`
	// Values that it takes, and what it is without being given; "required" or "none" where there is no value.
	Values  string `json:"values"`
	Default string `json:"default"`
	// Recipe is the recipe's field that sets it, empty where Misstep does.
	Recipe  string `json:"recipe,omitempty"`
	Meaning string `json:"meaning"`
}

// OptionTable gives every option that options.cpp parses, in the order of its message about unknown ones.
func OptionTable() []Option {
	return []Option{
		{"out", "an existing folder, absolute", "required", "", "folder for status.bin, mismatches.jsonl and agent.log"},
		{"seed", "0 to 2^64-1", "1", "seed", "of the choice of methods, of entry checks and of the sampler"},
		{"methods", "0 to 1", "1", "instrumentation.ratio", "share of methods that are instrumented"},
		{"include", "patterns separated by ;", "none", "instrumentation.include", "only methods of these names (package.Class.method), * for any run of characters"},
		{"exclude", "patterns separated by ;", "none", "instrumentation.exclude", "no methods of these names; wins over include"},
		{"only", "path of a file", "none", "instrumentation.only", "exactly these methods, class/Internal.name(desc)result a line; contradicts methods, include and exclude"},
		{"perturb", "path of a file", "none", "perturbation", "plan by which threads perturb themselves at instrumentation points (mechanism: agent)"},
		{"gst-asgct", "0 to 1", "0.001", "checks[name=gst-asgct].share", "share of method entries"},
		{"shadow-gst", "0 to 1", "0.001", "checks[name=shadow-gst].share", "share of method entries"},
		{"asgct-shadow", "0 to 1", "1", "checks[name=asgct-shadow].share", "share of the sampler's ticks"},
		{"reference", "shadow, trace:SHARE", "shadow", "checks[name=asgct-shadow].reference", "asgct-shadow also by traces, kept at that share of method entries; dear"},
		{"asgct-gst-bracket", "0 to 1", "0, once a recipe lists it 1", "checks[name=asgct-gst-bracket].share", "share of the sampler's ticks"},
		{"edges", "0 to 1", "0, once a recipe lists it 1", "checks[name=edges].share", "share of the traces that other checks take"},
		{"liveness", "milliseconds, 0 to 3600000", "100", "checks[name=liveness].interval", "between looks at all threads, each a check; 0 is off"},
		{"interval", "microseconds, 10 to 60000000", "1000", "sampling.interval", "between ticks of the sampler; below 1000 a thread takes the ticks of 4 ms at a time as long as it runs: samples by a timer of its own, brackets one right after the other, of up to four threads where asgct-shadow is 0"},
		{"jitter", "0 to 1", "0.1, in a recipe 0", "sampling.jitter", "share of the interval by which it varies; 0 is fixed"},
		{"burst", "1 to 8", "1", "sampling.burst", "signals back to back to one thread at each tick of asgct-shadow; more than 1: the sampler sends all signals, however short the interval"},
		{"guesses", "0 to 1024", "0", "sampling.guesses", "words of the stack, from its top, that are taken for return addresses where AsyncGetCallTrace gave a code from -3 to -6, each for one more walk, as profilers do that adjust the registers (async-profiler); not judged, to provoke crashes and hangs"},
		{"threads", "running, round-robin, cpu, name:PATTERN", "running", "sampling.threads", "which of the threads that ran lately gets the signal"},
		{"signal", "SIGPROF, SIGVTALRM, SIGIO, SIGURG, SIGRTMIN+1 to +28", "SIGPROF", "sampling.signal", "the sampler's signal; JFR has SIGPROF for itself"},
		{"depth", "frames, 64 to 16384", "2048, in a recipe 1024", "limits.stack_depth", "that a walk may have"},
		{"evidence", "distinct, every", "distinct", "evidence", "mismatches with a record of their own: the first of each check, kind, place and moment in the top frame's life, which counts the others, or every one"},
		{"max-mismatches", "1 to 16384", "64, in a recipe 1024", "limits.mismatches", "mismatch records that are kept; what is like one of them is counted beyond it"},
	}
}
