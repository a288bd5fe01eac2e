package recipe

import (
	"fmt"
	"slices"
)

// Word is one word of a verdict with its meaning.
type Word struct {
	Name string `json:"name"`
	// Meaning in one line.
	Meaning string `json:"meaning"`
	// Source of it: the specification, a HotSpot file, a JBS id or where it was measured.
	Source string `json:"source"`
}

// Catalogue is every check, and the words of their verdicts.
type Catalogue struct {
	Checks []Check `json:"checks"`
	// Rules tolerate a difference; Reasons make a check void; Kinds name a mismatch; Codes are AsyncGetCallTrace's errors, which
	// are counted as unwalkable.
	Rules   []Word `json:"rules"`
	Reasons []Word `json:"reasons"`
	Kinds   []Word `json:"kinds"`
	Codes   []Word `json:"codes"`
}

// Words gives the catalogue.
func Words() Catalogue {
	return Catalogue{
		Checks: Checks(), Rules: slices.Clone(rules), Reasons: slices.Clone(reasons), Kinds: slices.Clone(kinds),
		Codes: slices.Clone(codes),
	}
}

// CheckWords are the checks as words; the meaning ends with what each takes by default.
func CheckWords(checks []Check) []Word {
	words := make([]Word, 0, len(checks))
	for _, c := range checks {
		w := c.Word
		if !c.Interval {
			w.Meaning += fmt.Sprintf("; by default %g of %s", c.Share, c.ShareOf)
		}
		words = append(words, w)
	}
	return words
}

// rules that tolerate a difference, in the order of enum Rule in agent/native/src/verdict.h.
var rules = []Word{
	{
		"constructor-prologue", "a frame is below its push: a constructor evaluates arguments of this() or super()",
		"JVMS 4.10.2.4: no code may use this before",
	},
	{
		"push-pop-window", "the method is between its entry and its push, or between its pop and its return",
		"the instrumentation's own code",
	},
	{
		"inline-imprecision", "another position of the same compiled code explains the top: debug info lies between",
		"JDK-8022893; HotSpot pc_desc_near",
	},
	{
		"top-frame-missing", "one physical frame is missing on top while pc is in code that is no Java method",
		"JDK-8178287; HotSpot forte.cpp",
	},
	{
		"virtual-thread",
		"AsyncGetCallTrace continues through Continuation.enterSpecial into the carrier; in samples the carrier's own frames " +
			"agree and those above are judged by edges alone",
		"JDK 21, JEP 444",
	},
	{"depth-limit", "a walk was cut at its depth limit, and what is there is equal", "AsyncGetCallTrace's contract"},
	{
		"null-method-id", "AsyncGetCallTrace had no jmethodID for a method; everything else agrees, in a bracket what is below",
		"HotSpot forte.cpp: find_jmethod_id",
	},
	{
		"retransformed", "the class was redefined: a frame may run the version before, or its method id changed between two walks",
		"JVMTI RetransformClasses",
	},
	{"retried", "equal when walked again after -2 or a missing jmethodID", "HotSpot forte.cpp: ticks_GC_active"},
	{
		"deopt-upcall", "-9 in Java code that the VM called in the middle of a deoptimisation, to load a class",
		"HotSpot deoptimization.cpp: load_class_by_index; forte.cpp: ticks_deopt",
	},
	{
		"moved", "the thread left a frame that both signals show and came back: a loop, or calls in turn, allow it",
		"JVMS 6.5: branches",
	},
	{"vm-upcall", "the VM may call this method from that instruction", "HotSpot vmSymbols.hpp"},
	{"method-handle", "a method handle's call of this shape", "JVMS 2.9.3"},
	{"native-caller", "a native method may call anything", "JNI"},
}

// reasons that make a check void, in the order of enum Reason there.
var reasons = []Word{
	{"lost", "the signal was not handled within half a second", "the sampler"},
	{"thread-end", "the thread ended first", "JVMTI ThreadEnd"},
	{"exit", "the VM died first", "JVMTI VMDeath"},
	{"walker-busy", "the signal met a walk of the same thread", "one walker at a time"},
	{"depth", "deeper than the shadow or the walk can hold", "the option depth"},
	{
		"unknown-method",
		"a method that no event has reported yet, or ever: once a class was redefined, of its old version; else it is " +
			"a mismatch",
		"JVMTI ClassPrepare",
	},
	{"unknown-code", "pc in code that no CompiledMethodLoad event has reported", "JVMTI CompiledMethodLoad"},
	{
		"virtual-thread",
		"a virtual thread may be mounted, or runs on its carrier's behalf: which shadow has which frames is not known",
		"JEP 444",
	},
	{"gst-error", "GetStackTrace failed or gave nothing", "JVMTI GetStackTrace"},
	{"overdue", "a thread was found in the agent for longer than five seconds; the watcher outside decides", "the option liveness"},
	{"send-failed", "the kernel refused the signal", "rt_tgsigqueueinfo(2)"},
	{
		"overrun",
		"the judge did not come by for too long, or it may rest on an event still to come and too many others wait for theirs",
		"32 samples of a thread in a turn, 4096 that wait",
	},
	{
		"no-bottom",
		"a bracket of a thread that was before or after its run or main or in a class initialiser, or has none of them: " +
			"nothing says where its stack ends",
		"HotSpot javaThread.cpp, java.c",
	},
	{
		"no-slot", "a thread that has no shadow, once for each: there is room for 2048 at a time, and for 4096 virtual ones",
		"the log says so, too",
	},
	{
		"events-late",
		"a difference that may rest on compiled code of which the JVM had not told after five seconds: its compilers or its " +
			"Service Thread had no processor",
		"HotSpot nmethod.cpp: post_compiled_method_load_event",
	},
}

// kinds of mismatches, in the order of enum Kind there.
var kinds = []Word{
	{
		"truncated",
		"the bottom of the stack is lost without an error code; the record names a deoptimised caller at which that happened",
		"JDK-8303444, MISSTEP-deoptimised-caller",
	},
	{"missing", "frames are missing in the middle or on top", "JDK-8178287"},
	{"extra", "there are frames too many", "epilogues: pc after the frame was popped"},
	{"foreign", "nothing or little of it is this stack", "epilogues, stale frame pointers"},
	{"wrong-method", "one frame is another method", "JDK-8022893"},
	{"wrong-bci", "one frame has a bci that it cannot have", "debug info"},
	{"code", "an error code that the contract does not have, or not there", "HotSpot forte.cpp"},
	{"impossible-edge", "a frame stands on an instruction that cannot have called the frame above", "JVMS 6.5"},
}

// codes of AsyncGetCallTrace.
var codes = []Word{
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
}
