package recipe

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"misstep/internal/suggest"
)

// jfrSetting is a setting of an event as in a configuration of JFR.
var jfrSetting = regexp.MustCompile(`^[A-Za-z_$][\w$.]*#[A-Za-z_$][\w$-]*=.+$`)

// recorderOptions are the options of -XX:FlightRecorderOptions that a recipe may give: the sizes of buffers and chunks, where races
// are, the depth of stacks, and whether JFR instruments. The others say where the recording lies (HotSpot jfrOptionSet.cpp).
var recorderOptions = []string{
	"globalbuffersize", "maxchunksize", "memorysize", "numglobalbuffers", "retransform", "stackdepth",
	"threadbuffersize",
}

// jfrProblem returns what is wrong with an option of JFR, "" if nothing.
func jfrProblem(option string) string {
	if jfrSetting.MatchString(option) {
		return ""
	}
	name, value, _ := strings.Cut(option, "=")
	if strings.Contains(name, "#") || value == "" {
		return fmt.Sprintf("expected a setting of an event such as jdk.ThreadPark#threshold=1ms, or a recorder's option such as "+
			"maxchunksize=1M, got %s", suggest.Quote(option))
	}
	if !slices.Contains(recorderOptions, name) {
		return fmt.Sprintf("unknown option %s%s; settings of events are written EVENT#SETTING=VALUE", suggest.Quote(name),
			suggest.Among(name, recorderOptions))
	}
	return ""
}

// asyncOptions are the options of async-profiler's agent that a recipe may give, as of 4.1 (arguments.cpp), besides those in
// asyncValues. The agent ignores options that it does not know, so that a misspelt one would go unnoticed.
var asyncOptions = []string{
	"all", "alloc", "alluser", "begin", "chunksize", "chunktime", "end", "exclude", "features", "filter", "include", "jstackdepth",
	"live", "lock", "mcache", "nativemem", "nobatch", "nofree", "nostop", "record-cpu", "safemode", "sched", "target-cpu",
	"threads", "ttsp", "wall",
}

// asyncValues are the options that have one of a few values. The agent takes unknown ones of cstack for "no". Each of these events
// samples in the handler of SIGPROF, which Misstep's agent taps; other kinds of event have options of their own, such as wall,
// alloc and lock.
var asyncValues = map[string][]string{
	"event":  {"cpu", "ctimer", "itimer"},
	"cstack": {"dwarf", "fp", "lbr", "no", "vm", "vmx"},
	"clock":  {"monotonic", "tsc"},
}

// asyncReserved are the options that the trial itself gives or relies on, by reason.
var asyncReserved = []struct {
	reason string
	names  []string
}{
	{
		"the trial starts the profiler, which runs as long as the JVM",
		[]string{
			"check", "dump", "list", "loop", "meminfo", "resume", "server", "start", "status", "stop", "timeout", "version",
		},
	},
	{
		"the trial says where and in which format the recording is written",
		[]string{
			"collapsed", "fdtransfer", "file", "flamegraph", "flat", "jfr", "jfropts", "jfrsync", "log", "loglevel", "otlp",
			"quiet", "traces", "tree",
		},
	},
	{"the trial gives it SIGPROF, which the agent taps", []string{"signal"}},
	{"it is a field of its own, profiler.interval", []string{"interval"}},
}

// asyncProblem returns what is wrong with an option of async-profiler, "" if nothing.
func asyncProblem(option string) string {
	name, value, valued := strings.Cut(option, "=")
	for _, row := range asyncReserved {
		if slices.Contains(row.names, name) {
			return fmt.Sprintf("%s may not be given: %s", name, row.reason)
		}
	}
	values, chosen := asyncValues[name]
	switch {
	case !chosen && !slices.Contains(asyncOptions, name):
		return fmt.Sprintf("unknown option %s%s", suggest.Quote(name),
			suggest.Among(name, slices.AppendSeq(slices.Clone(asyncOptions), maps.Keys(asyncValues))))
	case valued && value == "":
		return fmt.Sprintf("%s= has no value: give one, or leave the equals sign out", name)
	case chosen && !slices.Contains(values, value):
		return fmt.Sprintf("expected %s=VALUE with one of %s, got %s", name, strings.Join(values, ", "), suggest.Quote(option))
	}
	return ""
}
