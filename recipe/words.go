package recipe

import (
	"fmt"
	"slices"
	"strings"
)

// Word is the name of a check, or a word of its verdicts, with its meaning.
type Word struct {
	Name string `json:"name"`
	// Meaning in one line.
	Meaning string `json:"meaning"`
	// Source is the specification, the HotSpot file, the JBS id or the measurement that it rests on.
	Source string `json:"source"`
}

// Catalogue holds every check and the words of their verdicts.
type Catalogue struct {
	Checks []Check `json:"checks"`
	// Rules tolerate a difference; Reasons make an observation void; Kinds classify a mismatch; Codes are AsyncGetCallTrace's error
	// codes, which are counted as unwalkable.
	Rules   []Word `json:"rules"`
	Reasons []Word `json:"reasons"`
	Kinds   []Word `json:"kinds"`
	Codes   []Word `json:"codes"`
	// Profilers are those whose recordings checks judge.
	Profilers []Word `json:"profilers"`
}

// Words returns the catalogue.
func Words() Catalogue {
	c := AgentWords()
	c.Checks = Checks()
	c.Rules, c.Reasons = append(c.Rules, recordedRules...), slices.Concat(c.Reasons, recordedReasons, readingReasons)
	c.Kinds = append(c.Kinds, recordedKinds...)
	for _, p := range profilers {
		c.Profilers = append(c.Profilers, p.Word)
	}
	return c
}

// KindMeaning returns the meaning of a kind of mismatch in one line, empty for an unknown one.
func KindMeaning(kind string) string {
	for _, w := range slices.Concat(kinds, recordedKinds) {
		if w.Name == kind {
			return w.Meaning
		}
	}
	return ""
}

// AgentWords returns the part of the catalogue that the agent has, in the order of its enums.
func AgentWords() Catalogue {
	return Catalogue{
		Checks: AgentChecks(), Rules: slices.Clone(rules), Reasons: slices.Clone(reasons), Kinds: slices.Clone(kinds),
		Codes: slices.Clone(codes),
	}
}

// CheckWords returns the checks as words; the meaning ends with the default share, or with the profiler that the check needs.
func CheckWords(checks []Check) []Word {
	words := make([]Word, 0, len(checks))
	for _, c := range checks {
		w := c.Word
		switch {
		case len(c.Profilers) > 0:
			w.Meaning += "; needs the profiler " + strings.Join(c.Profilers, " or ")
		case !c.Interval:
			w.Meaning += fmt.Sprintf("; by default %g of %s", c.Share, c.ShareOf)
		}
		words = append(words, w)
	}
	return words
}

// rules by which a difference is tolerated, in the order of enum Rule in agent/native/src/verdict.h.
var rules = []Word{
	{
		"constructor-prologue", "a frame has not pushed yet: a constructor is evaluating the arguments of this() or super()",
		"JVMS 4.10.2.4: no code may use this before",
	},
	{
		"push-pop-window", "the method is between its entry and its push, or between its pop and its return",
		"the instrumentation's own code",
	},
	{
		"inline-imprecision",
		"another position in the same compiled code explains the top: debug info is inexact between its entries",
		"JDK-8022893; HotSpot pc_desc_near",
	},
	{
		"top-frame-missing", "one physical frame is missing on top while pc is in code that is not a Java method",
		"JDK-8178287; HotSpot forte.cpp",
	},
	{
		"virtual-thread",
		"AsyncGetCallTrace continues through Continuation.enterSpecial into the carrier; in samples of a virtual thread without " +
			"a shadow, and in brackets, the carrier's own frames agree, and those above are judged by edges only",
		"JDK 21, JEP 444",
	},
	{
		"virtual-thread-switch",
		"a virtual thread is about to get frames on its carrier's stack, or has none there any more: the carrier's agree",
		"HotSpot continuationFreezeThaw.cpp; VirtualThread.runContinuation",
	},
	{"depth-limit", "a walk was cut off at its depth limit, and the frames that it has are equal", "AsyncGetCallTrace's contract"},
	{
		"null-method-id",
		"AsyncGetCallTrace had no jmethodID for a method; everything else agrees (in a bracket: everything below)",
		"HotSpot forte.cpp: find_jmethod_id",
	},
	{
		"retransformed",
		"the class was redefined: a frame may run the previous version, or its method id changed between two walks",
		"JVMTI RetransformClasses",
	},
	{"retried", "equal after another walk, which followed -2 or a missing jmethodID", "HotSpot forte.cpp: ticks_GC_active"},
	{
		"deopt-upcall", "-9 in Java code that the VM called during a deoptimisation, to load a class",
		"HotSpot deoptimization.cpp: load_class_by_index; forte.cpp: ticks_deopt",
	},
	{
		"moved", "the thread left a frame that both signals show and came back: permitted by a loop or by successive calls",
		"JVMS 6.5: branches",
	},
	{"vm-upcall", "the VM may call this method from that instruction", "HotSpot vmSymbols.hpp"},
	{"method-handle", "a call through a method handle, of a matching shape", "JVMS 2.9.3"},
	{"native-caller", "a native method may call anything", "JNI"},
}

// reasons for which an observation is void, in the order of enum Reason there.
var reasons = []Word{
	{"lost", "the signal was not handled within half a second", "the sampler"},
	{"thread-end", "the thread ended first", "JVMTI ThreadEnd"},
	{"exit", "the VM died first", "JVMTI VMDeath"},
	{"walker-busy", "the signal interrupted a walk of the same thread", "one walker at a time"},
	{"depth", "the stack is deeper than the shadow stack or the walk can hold", "the option depth"},
	{
		"unknown-method",
		"a method that no event has reported yet or, if it belongs to the old version of a redefined class, ever; otherwise it " +
			"is a mismatch",
		"JVMTI ClassPrepare",
	},
	{"unknown-code", "pc is in code that no CompiledMethodLoad event has reported", "JVMTI CompiledMethodLoad"},
	{
		"virtual-thread",
		"a virtual thread may be mounted, or runs on behalf of its carrier: it is not known which shadow stack has which frames",
		"JEP 444",
	},
	{
		"virtual-thread-switch",
		"a virtual thread is being mounted or unmounted by instrumented code, which is on its shadow or on its carrier's",
		"VirtualThread.mount and unmount",
	},
	{"gst-error", "GetStackTrace failed or returned no frames", "JVMTI GetStackTrace"},
	{"overdue", "a thread stayed in the agent for more than five seconds; the watchdog outside decides", "the option liveness"},
	{"send-failed", "the kernel refused the signal", "rt_tgsigqueueinfo(2)"},
	{
		"overrun",
		"the judge was delayed too long, or the sample may depend on an event that is still pending and too many others wait for " +
			"theirs",
		"32 samples of a thread in a turn, 4096 waiting",
	},
	{
		"no-bottom",
		"a bracket of a thread that was before or after its run or main, or in a class initialiser, or has none of them: " +
			"the bottom of its stack is unknown",
		"HotSpot javaThread.cpp, java.c",
	},
	{
		"no-slot",
		"a thread that has no shadow stack, counted once: there is room for 2048 threads at a time, and for 4096 virtual ones",
		"the agent's log",
	},
	{
		"events-late",
		"a difference that may depend on compiled code whose CompiledMethodLoad event was still pending after five seconds: the " +
			"JVM's compilers or its Service Thread got no CPU",
		"HotSpot nmethod.cpp: post_compiled_method_load_event",
	},
	{
		"other-handler",
		"the signal interrupted the handler of another signal, as of a second sampler: the walk begins in that handler, and not " +
			"in the program",
		"the signal mask that the kernel keeps: sigaction(2)",
	},
}

// kinds of mismatch, in the order of enum Kind there.
var kinds = []Word{
	{
		"truncated",
		"the bottom of the stack is lost without an error code; if that happened at a deoptimised caller, the record names it",
		"JDK-8303444, MISSTEP-deoptimised-caller",
	},
	{"missing", "frames are missing in the middle or on top", "JDK-8178287"},
	{"extra", "there are too many frames", "epilogues: pc after the frame was popped"},
	{"foreign", "little or nothing of the trace belongs to this stack", "epilogues, stale frame pointers"},
	{"wrong-method", "one frame has the wrong method", "JDK-8022893"},
	{"wrong-bci", "one frame has an impossible bci", "debug info"},
	{"code", "an error code that the contract does not define, or not for this state of the thread", "HotSpot forte.cpp"},
	{"impossible-edge", "the instruction at a frame's bci cannot have called the frame above", "JVMS 6.5"},
}

// codes are the error codes of AsyncGetCallTrace.
var codes = []Word{
	{"0", "no Java frame", "HotSpot forte.cpp: ticks_no_Java_frame"},
	{"-1", "class load events are off", "HotSpot forte.cpp: ticks_no_class_load"},
	{"-2", "a GC is active", "HotSpot forte.cpp: ticks_GC_active"},
	{"-3", "not in Java, top frame unknown", "HotSpot forte.cpp: ticks_unknown_not_Java"},
	{"-4", "not in Java, not walkable", "HotSpot forte.cpp: ticks_not_walkable_not_Java"},
	{"-5", "in Java, top frame unknown", "HotSpot forte.cpp: ticks_unknown_Java"},
	{"-6", "in Java, not walkable", "HotSpot forte.cpp: ticks_not_walkable_Java"},
	{"-7", "the thread's state is unknown", "HotSpot forte.cpp: ticks_unknown_state"},
	{"-8", "the thread is exiting, or is not a Java thread", "HotSpot forte.cpp: ticks_thread_exit"},
	{"-9", "the thread is deoptimising", "HotSpot forte.cpp: ticks_deopt"},
	{"-10", "the thread is at a safepoint; defined but not used", "HotSpot forte.cpp: ticks_safepoint"},
}
