package agent

import (
	"slices"
	"strconv"

	"misstep/recipe"
)

// Option is one option of the agent.
type Option struct {
	Key string `json:"key"`
	// Values that it takes, and its default: "required" or "none" where there is no default value.
	Values  string `json:"values"`
	Default string `json:"default"`
	// Recipe is the recipe's field that sets it, empty where Misstep does.
	Recipe  string `json:"recipe,omitempty"`
	Meaning string `json:"meaning"`
}

// OptionTable returns every option that options.cpp parses, in the order of its message about unknown ones.
func OptionTable() []Option {
	return slices.Concat(generalOptions, checkOptions(), otherOptions)
}

// checkOptions returns one option for each check of the agent.
func checkOptions() (all []Option) {
	for _, c := range recipe.AgentChecks() {
		field := "checks[name=" + c.Name + "]"
		if c.Interval {
			all = append(all, Option{
				c.Name, "milliseconds, 0 to 3600000", strconv.Itoa(recipe.AgentLivenessMillis), field + ".interval",
				"between looks at all threads, each a check; 0 is off",
			})
			continue
		}
		standard := share(c.AgentShare)
		if c.AgentShare != c.Share {
			standard += ", once a recipe lists it " + share(c.Share)
		}
		all = append(all, Option{c.Name, "0 to 1", standard, field + ".share", "share of " + c.ShareOf})
	}
	return all
}

// generalOptions come before those of the checks, otherOptions after them.
var generalOptions = []Option{
	{
		"out", "an absolute path of a folder", "required", "",
		"folder for status.bin, mismatches.jsonl, jvm.txt and agent.log; it must exist, unless its path has %p: that becomes the " +
			"pid, and the folders from there on are made",
	},
	{"seed", "0 to 2^64-1", "1", "seed", "of the choice of methods, of entry checks and of the sampler"},
	{"methods", "0 to 1", "1", "instrumentation.ratio", "share of methods that are instrumented"},
	{
		"include", "patterns separated by ;", "none", "instrumentation.include",
		"only methods of these names (package.Class.method), * for any run of characters",
	},
	{"exclude", "patterns separated by ;", "none", "instrumentation.exclude", "no methods of these names; wins over include"},
	{
		"leaves", "0, 1", "1, like other methods", "instrumentation.without_leaves",
		"0 leaves out leaves and forwarders: methods that loop nowhere and have one call at most",
	},
	{
		"only", "path of a file", "none", "instrumentation.only",
		"exactly these methods, class/Internal.name(desc)result a line; contradicts methods, include, exclude and leaves",
	},
	{
		"jfr", "0, 1", "0, in a recipe 1 where JFR records", "",
		"leaves the classes that JFR itself instruments (up to JDK 22) uninstrumented: its code there runs before the push " +
			"and after the pop",
	},
	{
		"perturb", "path of a file", "none", "perturbation",
		"plan by which threads perturb themselves at instrumentation points (mechanism: agent)",
	},
}

var otherOptions = []Option{
	{
		"budget", "0 to 1", "0", "",
		"share of each thread's CPU time that its entry checks may take: where they would take more, they are made more rarely; " +
			"0 leaves them their share of method entries",
	},
	{
		"reference", "shadow, trace:SHARE", "shadow", "checks[name=" + recipe.AsgctShadow + "].reference",
		recipe.AsgctShadow + " also by traces, kept at that share of method entries; expensive",
	},
	{
		"interval", "microseconds, 10 to 60000000", "1000", "sampling.interval",
		"between ticks of the sampler; below 1000 a thread takes the ticks of 4 ms at a time as long as it runs: samples by " +
			"a timer of its own, brackets one right after the other, of up to four threads where asgct-shadow is 0",
	},
	{"jitter", "0 to 1", "0.1, in a recipe 0", "sampling.jitter", "share of the interval by which it varies; 0 is fixed"},
	{
		"burst", "1 to 8", "1", "sampling.burst",
		"signals back to back to one thread at each tick of asgct-shadow; more than 1: the sampler sends all signals, " +
			"however short the interval",
	},
	{
		"guesses", "0 to 1024", "0", "sampling.guesses",
		"words of the stack, from its top, that are taken for return addresses where AsyncGetCallTrace gave a code from -3 " +
			"to -6, each for one more walk, as profilers do that adjust the registers (async-profiler); not judged, to provoke " +
			"crashes and hangs",
	},
	{
		"threads", "running, round-robin, cpu, name:PATTERN", "running", "sampling.threads",
		"which of the threads that ran lately gets the signal",
	},
	{
		"signal", "SIGPROF, SIGVTALRM, SIGIO, SIGURG, SIGRTMIN+1 to +28", "SIGPROF", "sampling.signal",
		"the sampler's signal; JFR has SIGPROF for itself",
	},
	{
		"tap", "prof, usr2, both", "none", "",
		"notes each call of another sampler's signal handler in tap.bin, with the thread's shadow at that instant: prof is " +
			"SIGPROF (JFR's CPU-time sampler, async-profiler), usr2 the signal by which the JVM suspends threads (JFR's " +
			"execution sampler)",
	},
	{
		"tap-asgct", "0 to 1", "0.05", "",
		"share of the tapped calls in which AsyncGetCallTrace is asked as well, right before the other sampler walks",
	},
	{
		"sites", "0, 1", "0, in a recipe 1 with event-edges", "",
		"writes sites.bin: what the instructions of each class's methods can call, for the judge of recordings",
	},
	{
		"stacks", "microseconds, 1000 to 60000000", "none", "profiler.interval",
		"between calls of Thread.getAllStackTraces() by a Java thread of the agent's, whose traces are in stacks.bin",
	},
	{"depth", "frames, 64 to 16384", "2048, in a recipe 1024", "limits.stack_depth", "that a walk may have"},
	{
		"evidence", "distinct, every", "distinct", "evidence",
		"mismatches with a record of their own: the first of each check, kind, place and moment in the top frame's life, " +
			"which counts the others, or every one",
	},
	{
		"max-mismatches", "1 to 16384", "64, in a recipe 1024", "limits.mismatches",
		"mismatch records that are kept; what is like one of them is counted beyond it",
	},
}
