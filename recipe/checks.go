package recipe

import (
	"slices"

	misstepv1 "misstep/proto/misstep/v1"
)

// Names of the checks. Code that treats one check differently from others uses its constant, never the literal.
const (
	GstAsgct        = "gst-asgct"
	ShadowGst       = "shadow-gst"
	AsgctShadow     = "asgct-shadow"
	AsgctGstBracket = "asgct-gst-bracket"
	Edges           = "edges"
	Liveness        = "liveness"
	JfrShadow       = "jfr-shadow"
	ProfilerShadow  = "profiler-shadow"
	Samplers        = "samplers"
	JfrChunks       = "jfr-chunks"
	EventEdges      = "event-edges"
)

// Slots in the agent's status file. Their order is part of the agent's ABI (MISSTEP_ABI_VERSION in agent/abi.h).
const (
	slotGstAsgct = iota
	slotShadowGst
	slotAsgctShadow
	slotAsgctGstBracket
	slotEdges
	slotLiveness
	// StatusSlots is the number of checks in the agent's status file.
	StatusSlots
)

// NoSlot is the slot of a check that the agent does not count: it is made after the trial, from a recording.
const NoSlot = -1

// Check is everything that is specific to one check. The table below is its only definition: validation, defaults, the agent's
// options and status file, help, bundles and the generated agent/native/src/checks.gen.h follow from it.
type Check struct {
	Word
	// Slot in the agent's status file, from 0, or NoSlot.
	Slot int `json:"-"`
	// Methods, Signals and Traces report what the check needs to do any work: instrumented methods, signals, the traces of other
	// checks.
	Methods bool `json:"needs_methods"`
	Signals bool `json:"needs_signals"`
	Traces  bool `json:"needs_traces"`
	// Profilers are the names of the profilers whose recordings it can judge; it needs one of them. Empty means that it needs no
	// profiler.
	Profilers []string `json:"needs_profilers,omitempty"`
	// Tap reports that it needs the agent's tap, which notes the shadow at each signal of the profiler: the agent is loaded for it,
	// though it does not count it.
	Tap bool `json:"-"`
	// Sites reports that it needs the agent's file of what the instructions of each class can call; likewise.
	Sites bool `json:"-"`
	// Stacks reports that it needs the agent's stack traces of all threads, for which the agent is loaded, too.
	Stacks bool `json:"-"`
	// Share is its default share of what ShareOf names, in (0, 1]; that of a check without a slot is 1 and cannot be changed.
	Share   float64 `json:"default_share"`
	ShareOf string  `json:"share_of"`
	// AgentShare is its share if the agent's option is left out; 0 means off.
	AgentShare float64 `json:"-"`
	// Least is the share of what it asked for that it has to compare, from 0 to 1: below it the check is void (Judged).
	Least float64 `json:"least_compared"`
	// Reference, Interval and Burst report whether it takes Check.reference, Check.interval and Sampling.burst. The value of the
	// agent's option is the interval in milliseconds if the check takes one, else its share.
	Reference bool `json:"takes_reference"`
	Interval  bool `json:"takes_interval"`
	Burst     bool `json:"takes_burst"`
	// Suspect is the walker that it judges, Trusted what the suspect is compared with, At the moment at which both are observed.
	Suspect string `json:"suspect"`
	Trusted string `json:"trusted"`
	At      string `json:"at"`
	// Expected is the correct behaviour of a JVM, as a sentence of a bug report.
	Expected string `json:"expected"`
	// Rules, Kinds and Reasons are the words of its verdicts: why it may tolerate a difference, which kinds of mismatch it finds,
	// why it may be void. A check without kinds has no mismatch records.
	Rules   []string `json:"rules,omitempty"`
	Kinds   []string `json:"kinds,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
}

// Walkers and references that checks compare.
const (
	WalkerAsgct = "AsyncGetCallTrace"
	WalkerGst   = "GetStackTrace"
	ShadowStack = "shadow stack"
	// SamplerJFR and SamplerAsync are the samplers whose recordings are judged.
	SamplerJFR   = "JFR"
	SamplerAsync = "async-profiler"
)

const (
	sharesOfEntries = "method entries"
	sharesOfTicks   = "the sampler's ticks"
	// asynchronous is the correct behaviour of a walk in a signal handler.
	asynchronous = "AsyncGetCallTrace, called in a signal handler, gives the frames that were entered and not left, " +
		"or an error code."
)

// entryShare is the default share of method entries. An entry check costs 2 to 40 microseconds, an entry 3 ns (docs/figures): at a
// share of 0.001 the checks of a busy program cost about as much as its instrumentation.
const entryShare = 0.001

// leastCompared is the share below which what is compared is as good as nothing: async-profiler 4.1's walker vm gives 1 of 4,795 on
// 28, whose layouts it does not know.
const leastCompared = 0.05

// AgentLivenessMillis is the interval of liveness if the agent's option is left out, in milliseconds.
const AgentLivenessMillis = 100

// checks in the order in which they are listed; those with a slot come first, in the order of their slots.
var checks = slices.Concat(ofAgent, withReading(ofRecordings))

// ofAgent are the checks that the agent counts, in the order of their slots.
var ofAgent = []Check{
	{
		Word: Word{
			GstAsgct,
			"at method entries: GetStackTrace and AsyncGetCallTrace, called by the thread itself, give equal methods and bcis",
			"measured: docs/figures/0005-oracle-figures.md",
		},
		Slot: slotGstAsgct, Methods: true, Share: entryShare, ShareOf: sharesOfEntries, AgentShare: entryShare,
		Least:   leastCompared,
		Suspect: WalkerAsgct, Trusted: WalkerGst, At: "method entry",
		Expected: "AsyncGetCallTrace and JVMTI GetStackTrace, called at the same place by the same thread, give the same frames.",
		Rules:    []string{"depth-limit", "virtual-thread", "null-method-id", "retransformed", "retried", "deopt-upcall"},
		Kinds:    []string{"truncated", "missing", "extra", "foreign", "wrong-method", "wrong-bci", "code"},
		Reasons:  []string{"exit", "gst-error", "no-slot"},
	},
	{
		Word: Word{
			ShadowGst, "at method entries: the shadow stack equals the instrumented methods in the trace of GetStackTrace",
			"measured: docs/figures/0001-first-hunts.md",
		},
		Slot: slotShadowGst, Methods: true, Share: entryShare, ShareOf: sharesOfEntries, AgentShare: entryShare,
		Least:   leastCompared,
		Suspect: WalkerGst, Trusted: ShadowStack, At: "method entry",
		Expected: "JVMTI GetStackTrace gives the frames that were entered and not left, in order.",
		Rules:    []string{"constructor-prologue", "push-pop-window", "null-method-id", "retransformed"},
		Kinds:    []string{"truncated", "missing", "extra", "foreign", "wrong-method"},
		Reasons:  []string{"depth", "virtual-thread", "gst-error", "no-slot"},
	},
	{
		Word: Word{
			AsgctShadow,
			"in a signal handler: AsyncGetCallTrace compared with the shadow stack, copied in the same handler, from the bottom",
			"the shadow stack, which shadow-gst checks; measured: docs/figures/0005-oracle-figures.md",
		},
		Slot: slotAsgctShadow, Methods: true, Signals: true, Share: 1, ShareOf: sharesOfTicks, AgentShare: 1,
		Least:     leastCompared,
		Reference: true, Burst: true,
		Suspect: WalkerAsgct, Trusted: ShadowStack, At: "signal", Expected: asynchronous,
		Rules: []string{
			"constructor-prologue", "push-pop-window", "inline-imprecision", "top-frame-missing", "virtual-thread",
			"virtual-thread-switch", "null-method-id", "retransformed", "deopt-upcall",
		},
		Kinds: []string{"truncated", "missing", "extra", "foreign", "wrong-method", "wrong-bci", "code"},
		Reasons: []string{
			"lost", "thread-end", "exit", "walker-busy", "depth", "unknown-method", "unknown-code", "virtual-thread",
			"virtual-thread-switch", "send-failed", "overrun", "events-late", "other-handler",
		},
	},
	{
		Word: Word{
			AsgctGstBracket,
			"a signal, GetStackTrace at the next safepoint, a signal: bytecode must permit what the thread did in between; " +
				"instruments nothing", "bytecode: JVMS 6.5; threads: HotSpot javaThread.cpp",
		},
		Slot: slotAsgctGstBracket, Signals: true, Share: 1, ShareOf: sharesOfTicks,
		Least:   leastCompared,
		Suspect: WalkerAsgct, Trusted: WalkerGst, At: "two signals, with a safepoint in between", Expected: asynchronous,
		Rules: []string{"virtual-thread", "null-method-id", "retransformed", "deopt-upcall", "moved"},
		Kinds: []string{"truncated", "missing", "extra", "foreign", "wrong-method", "wrong-bci", "code"},
		Reasons: []string{
			"lost", "thread-end", "exit", "walker-busy", "depth", "unknown-method", "unknown-code", "virtual-thread",
			"gst-error", "send-failed", "overrun", "no-bottom", "events-late", "other-handler",
		},
	},
	{
		Word: Word{
			Edges, "on every edge of the traces of other checks: the instruction at a frame's bci can have called the frame above",
			"JVMS 5 and 6.5; upcalls: HotSpot vmSymbols.hpp",
		},
		Slot: slotEdges, Traces: true, Share: 1, ShareOf: "the traces that other checks take",
		Least:   leastCompared,
		Suspect: "every walker", Trusted: "bytecode", At: "wherever another check walks", Expected: asynchronous,
		Rules:   []string{"vm-upcall", "method-handle", "native-caller", "retransformed"},
		Kinds:   []string{"impossible-edge"},
		Reasons: []string{"unknown-method"},
	},
	{
		Word: Word{
			Liveness,
			"no thread stays in AsyncGetCallTrace, a handler or the agent beyond its limit, observed from inside and outside",
			"measured: docs/figures/0005-oracle-figures.md",
		},
		Slot: slotLiveness, Share: 1, ShareOf: "on or off", AgentShare: 1, Interval: true,
		Suspect: "every walker", Trusted: "a clock", At: "an interval, all threads",
		Expected: "every walk of a stack ends.",
		Reasons:  []string{"overdue"},
	},
}

// Judged reports whether a check compared enough of what it asked for to say anything: its Least, and something.
func (c Check) Judged(compared, asked uint64) bool {
	return compared > 0 && float64(compared) >= c.Least*float64(asked)
}

// Checks returns every check. Their slices are shared: do not change them.
func Checks() []Check { return slices.Clone(checks) }

// AgentChecks returns the checks that the agent counts, in the order of its status file.
func AgentChecks() []Check {
	return slices.DeleteFunc(Checks(), func(c Check) bool { return c.Slot == NoSlot })
}

// FindCheck finds a check by name.
func FindCheck(name string) (Check, bool) {
	i := slices.IndexFunc(checks, func(c Check) bool { return c.Name == name })
	if i < 0 {
		return Check{Slot: NoSlot}, false
	}
	return checks[i], true
}

// Names returns the names of checks, in their order.
func Names(list []Check) []string {
	names := make([]string, 0, len(list))
	for _, c := range list {
		names = append(names, c.Name)
	}
	return names
}

// ShareOf returns the share of a recipe's check: its own or the default; 0 for an unknown check without one.
func ShareOf(c *misstepv1.Check) float64 {
	if c.GetShare() != 0 {
		return c.GetShare()
	}
	known, _ := FindCheck(c.GetName())
	return known.Share
}
