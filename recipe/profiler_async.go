package recipe

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"misstep/internal/suggest"
)

// asyncOption is an option of async-profiler's agent.
type asyncOption struct {
	allowed
	// bare options may have no value, and valued ones may have one.
	bare, valued bool
}

func flag() asyncOption             { return asyncOption{bare: true} }
func maybe(a allowed) asyncOption   { return asyncOption{a, true, true} }
func needing(a allowed) asyncOption { return asyncOption{a, false, true} }

// Values of options (async-profiler arguments.cpp, parseUnits, which looks at the first letter of a unit only).
var (
	asyncBytes   = matching("a size in bytes or with one of b, k, m, g", `(?i)\d+(b|kb?|mb?|gb?)?`)
	asyncNanos   = matching("a duration in nanoseconds or with one of ns, us, ms, s", `\d+(ns|us|ms|s)?`)
	asyncSeconds = matching("a duration in seconds or with one of s, m, h, d", `\d+[smhd]?`)
	asyncText    = matching("a text", `.+`)
)

// asyncOptions are the options of async-profiler's agent that a recipe may give, as of 4.1 (arguments.cpp). The agent ignores
// options that it does not know and most values that it cannot read, so that a misspelt one would go unnoticed. Each of the kinds
// of event samples in the handler of SIGPROF, which Misstep's agent taps; others have options of their own, such as wall, alloc and
// lock.
var asyncOptions = map[string]asyncOption{
	"all":         flag(),
	"alloc":       maybe(asyncBytes),
	"alluser":     flag(),
	"begin":       needing(asyncText),
	"chunksize":   needing(asyncBytes),
	"chunktime":   needing(asyncSeconds),
	"clock":       needing(oneOf("monotonic", "tsc")),
	"cstack":      needing(oneOf("dwarf", "fp", "lbr", "no", "vm", "vmx")),
	"end":         needing(asyncText),
	"event":       needing(oneOf("cpu", "ctimer", "itimer")),
	"exclude":     needing(asyncText),
	"features":    needing(asyncFeatures()),
	"filter":      maybe(asyncText),
	"include":     needing(asyncText),
	"jstackdepth": needing(number(1, 1<<16)),
	"live":        flag(),
	"lock":        maybe(asyncNanos),
	"mcache":      maybe(number(0, 255)),
	"nativemem":   maybe(asyncBytes),
	"nobatch":     flag(),
	"nofree":      flag(),
	"nostop":      flag(),
	"record-cpu":  flag(),
	"safemode":    maybe(number(0, 63)),
	"sched":       flag(),
	"target-cpu":  needing(number(0, 1<<16)),
	"threads":     flag(),
	"ttsp":        flag(),
	"wall":        maybe(asyncNanos),
}

// asyncReserved are the options that the trial itself gives or relies on.
var asyncReserved = []reserved{
	{
		"the trial starts the profiler, which runs as long as the JVM",
		[]string{
			"check", "dump", "list", "loop", "meminfo", "resume", "server", "start", "status", "stop", "timeout", "version",
		},
	},
	{
		"the trial says where and in which format the recording is written",
		[]string{
			"ann", "collapsed", "dot", "fdtransfer", "file", "flamegraph", "flat", "inverted", "jfr", "jfropts", "jfrsync", "lib",
			"log", "loglevel", "minwidth", "norm", "otlp", "quiet", "reverse", "samples", "sig", "simple", "title", "total",
			"traces", "tree",
		},
	},
	{"the trial gives it SIGPROF, which the agent taps", []string{"signal"}},
	{"it is " + intervalField, []string{"interval"}},
	{"write event=cpu", []string{"cpu"}},
}

// asyncProblem returns what is wrong with an option of async-profiler, "" if nothing.
func asyncProblem(option string) string {
	name, value, valued := strings.Cut(option, "=")
	if problem := reservedProblem(name, asyncReserved); problem != "" {
		return problem
	}
	if problem := misplacedInterval(option); problem != "" {
		return problem
	}
	known, ok := asyncOptions[name]
	switch {
	case !ok:
		return fmt.Sprintf("unknown option %s%s", suggest.Quote(name),
			suggest.Among(name, slices.Collect(maps.Keys(asyncOptions))))
	case valued && !known.valued:
		return fmt.Sprintf("%s has no value: leave %s out", name, suggest.Quote("="+value))
	case valued && value == "":
		return fmt.Sprintf("%s= has no value: give one, or leave the equals sign out", name)
	case valued:
		return known.problem(name, value)
	case !known.bare:
		return fmt.Sprintf("expected %s=VALUE with %s, got %s", name, known.text, suggest.Quote(option))
	}
	return ""
}

// asyncFeatures are the words of the option features, joined by a plus sign.
func asyncFeatures() allowed {
	words := []string{"comptask", "pcaddr", "probesp", "stats", "vtable"}
	return allowed{"one or more of " + strings.Join(words, ", ") + ", joined by +", func(v string) bool {
		return !slices.ContainsFunc(strings.Split(v, "+"), func(w string) bool { return !slices.Contains(words, w) })
	}}
}
