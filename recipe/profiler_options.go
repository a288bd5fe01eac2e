package recipe

import (
	"fmt"
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

// asyncOption is an option of async-profiler's agent that a recipe may give.
type asyncOption struct {
	name string
	// values that it may have; nil means any, or none.
	values []string
}

// asyncOptions of async-profiler 4.1 (arguments.cpp). Its agent ignores options that it does not know, and takes unknown values of
// cstack for "no", so that a misspelt one would go unnoticed. Each of these events samples in the handler of SIGPROF, which
// Misstep's agent taps; other kinds of event have options of their own, such as wall, alloc and lock.
var asyncOptions = []asyncOption{
	{"event", []string{"cpu", "ctimer", "itimer"}},
	{"cstack", []string{"dwarf", "fp", "lbr", "no", "vm", "vmx"}},
	{"clock", []string{"monotonic", "tsc"}},
	{"all", nil}, {"alloc", nil}, {"alluser", nil}, {"begin", nil}, {"chunksize", nil}, {"chunktime", nil}, {"end", nil},
	{"exclude", nil}, {"features", nil}, {"filter", nil}, {"include", nil}, {"jstackdepth", nil}, {"live", nil}, {"lock", nil},
	{"mcache", nil}, {"nativemem", nil}, {"nobatch", nil}, {"nofree", nil}, {"nostop", nil}, {"record-cpu", nil},
	{"safemode", nil}, {"sched", nil}, {"target-cpu", nil}, {"threads", nil}, {"ttsp", nil}, {"wall", nil},
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
			"collapsed", "fdtransfer", "file", "flamegraph", "flat", "jfr", "jfropts", "jfrsync", "log", "loglevel", "otlp", "quiet",
			"traces", "tree",
		},
	},
	{"the agent taps the signal that the profiler takes by default", []string{"signal"}},
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
	i := slices.IndexFunc(asyncOptions, func(o asyncOption) bool { return o.name == name })
	switch {
	case i < 0:
		names := make([]string, 0, len(asyncOptions))
		for _, o := range asyncOptions {
			names = append(names, o.name)
		}
		return fmt.Sprintf("unknown option %s%s", suggest.Quote(name), suggest.Among(name, names))
	case valued && value == "":
		return fmt.Sprintf("%s= has no value: give one, or leave the equals sign out", name)
	case asyncOptions[i].values != nil && !slices.Contains(asyncOptions[i].values, value):
		return fmt.Sprintf("expected %s=VALUE with one of %s, got %s", name, strings.Join(asyncOptions[i].values, ", "),
			suggest.Quote(option))
	}
	return ""
}
