package recipe

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"misstep/internal/suggest"
)

// jfrSetting is a setting of an event as in a configuration of JFR.
var jfrSetting = regexp.MustCompile(`^([A-Za-z_$][\w.$]*)#([A-Za-z_$][\w$-]*)=(.+)$`)

// recorderOptions are the options of -XX:FlightRecorderOptions that a recipe may give: the sizes of buffers and chunks, the depth
// of stacks, and whether JFR instruments. The bounds are HotSpot's (jfrOptionSet.cpp, jfrMemorySizer.cpp,
// jdk.jfr.internal.Options).
var recorderOptions = map[string]allowed{
	"globalbuffersize": recorderSize("64k", 64<<10, "2g", 2<<30),
	"maxchunksize":     recorderSize("1m", 1<<20, "1024g", 1<<40),
	"memorysize":       recorderSize("1m", 1<<20, "1024g", 1<<40),
	"numglobalbuffers": number(2, 1<<31-1),
	"retransform":      oneOf("true", "false"),
	"stackdepth":       number(1, 2048),
	"threadbuffersize": recorderSize("4k", 4<<10, "2g", 2<<30),
}

// jfrReserved are options of -XX:FlightRecorderOptions and -XX:StartFlightRecording, and settings of events.
var jfrReserved = []reserved{
	{
		"the trial says where the recording is written, and needs it when the JVM has ended",
		[]string{"disk", "dumponexit", "filename", "preserve-repository", "repository"},
	},
	{"the trial starts the recording, which lasts as long as the JVM", []string{"begin", "delay", "duration", "name"}},
	{"the trial bounds the recording, by limits.disk_mib", []string{"maxage", "maxsize"}},
	{"the trial writes the settings; each is an option of its own, EVENT#SETTING=VALUE", []string{"settings"}},
	{"what is judged of a JVM that was killed is what JFR flushed each second", []string{"flush-interval"}},
	{"it would turn off the samplers whose samples are judged", []string{"samplethreads"}},
	{"the trial reads the recording itself", []string{"report-on-exit"}},
	{"write jdk.OldObjectSample#cutoff=infinity", []string{"path-to-gc-roots"}},
	{
		"it is the interval of a sampler, which is " + intervalField,
		[]string{"interval", "jdk.CPUTimeSample#throttle", "jdk.ExecutionSample#period", "jdk.NativeMethodSample#period"},
	},
}

// jfrProblem returns what is wrong with an option of JFR, "" if nothing.
func jfrProblem(option string) string {
	name, value, _ := strings.Cut(option, "=")
	if problem := reservedProblem(name, jfrReserved); problem != "" {
		return problem
	}
	if problem := misplacedInterval(option); problem != "" {
		return problem
	}
	if parts := jfrSetting.FindStringSubmatch(option); parts != nil {
		return settingProblem(parts[1], parts[2], parts[3])
	}
	if strings.Contains(name, "#") || value == "" {
		return fmt.Sprintf("expected a setting of an event such as jdk.ThreadPark#threshold=1ms, or a recorder's option such as "+
			"maxchunksize=1M, got %s", suggest.Quote(option))
	}
	values, ok := recorderOptions[name]
	if !ok {
		return fmt.Sprintf("unknown option %s%s; settings of events are written EVENT#SETTING=VALUE", suggest.Quote(name),
			suggest.Among(name, slices.Collect(maps.Keys(recorderOptions))))
	}
	return values.problem(name, value)
}

// recorderSize is a size as HotSpot reads it (diagnosticArgument.cpp, MemorySizeArgument), which takes bytes for what has any other
// unit.
func recorderSize(leastText string, least int64, mostText string, most int64) allowed {
	parts := regexp.MustCompile(`^(\d+)([kKmMgG]?)$`)
	units := map[string]int64{"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
	text := fmt.Sprintf("a size from %s to %s, in bytes or with one of k, m, g", leastText, mostText)
	return allowed{text, func(v string) bool {
		found := parts.FindStringSubmatch(v)
		if found == nil {
			return false
		}
		n, err := strconv.ParseInt(found[1], 10, 64)
		unit := units[strings.ToLower(found[2])]
		return err == nil && n <= most/unit && least <= n*unit
	}}
}
