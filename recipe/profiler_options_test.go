package recipe_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// problem returns what is wrong with one option of a profiler, "" if nothing.
func problem(profiler, option string) string {
	err := recipe.ValidateProfiler(&misstepv1.Profiler{Name: profiler, Options: []string{option}})
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestOptionsOfJFR(t *testing.T) {
	for _, good := range []string{
		"maxchunksize=1M", "maxchunksize=1048576", "memorysize=2g", "globalbuffersize=64k", "threadbuffersize=4K", "numglobalbuffers=2",
		"retransform=false", "stackdepth=2048",
		"jdk.ThreadPark#enabled=true", "jdk.ThreadPark#threshold=0 ns", "jdk.ThreadPark#threshold=1ms", "jdk.ThreadPark#stackTrace=false",
		"jdk.ThreadCPULoad#period=everyChunk", "jdk.ThreadCPULoad#period=10 s", "jdk.OldObjectSample#cutoff=infinity",
		"jdk.ObjectAllocationSample#throttle=300/s", "jdk.ObjectAllocationSample#throttle=off", "jdk.MethodTrace#filter=a.B::c<init>",
		"jdk.DeprecatedInvocation#level=all", "jdk.CPUTimeSample#enabled=false", "jdk.ExecutionSample#enabled=false",
		"com.example.Own#threshold=1 s", "com.example.Own#colour=red", "Own#enabled=true",
	} {
		require.Empty(t, problem(recipe.ProfilerJFR, good), good)
	}
	for bad, want := range map[string]string{
		"maxchunksize=banana":                     `expected maxchunksize=VALUE with a size from 1m to 1024g, in bytes or with one of k, m, g, got`,
		"maxchunksize=512k":                       "a size from 1m",
		"maxchunksize=2kb":                        "a size from 1m",
		"globalbuffersize=3g":                     "a size from 64k to 2g",
		"memorysize=-1":                           "a size from 1m",
		"threadbuffersize=9999999999999999999g":   "a size from 4k",
		"numglobalbuffers=1":                      "an integer from 2",
		"stackdepth=2049":                         "an integer from 1 to 2048",
		"retransform=yes":                         "one of true, false",
		"jdk.Banana#enabled=true":                 `JFR has no event "jdk.Banana" in JDK 8 to 28`,
		"jdk.threadpark#enabled=true":             "did you mean jdk.ThreadPark?",
		"JDK.ThreadPark#enabled=true":             "JFR has no event",
		"ThreadPark#enabled=true":                 "did you mean jdk.ThreadPark?",
		"jdk.ThreadPark#period=1 s":               `the event jdk.ThreadPark has no setting "period" (there are: enabled, stackTrace, threshold`,
		"jdk.ThreadPark#enabled=1":                "expected jdk.ThreadPark#enabled=VALUE with one of true, false, got",
		"jdk.ThreadPark#threshold=1":              "a duration with a unit, such as 10 ms",
		"jdk.ThreadPark#threshold=1.5ms":          "a duration with a unit",
		"jdk.ThreadCPULoad#period=never":          "one of beginChunk, endChunk, everyChunk",
		"jdk.ObjectAllocationSample#throttle=300": "a rate, such as 100/s, or off",
		"com.example.Own#enabled=maybe":           "one of true, false",
		// The interval of the samplers, and what else the trial gives.
		"jdk.ExecutionSample#period=1ms":    "it is the interval of a sampler, which is a field of its own, profiler.interval",
		"jdk.NativeMethodSample#period=1ms": "it is the interval of a sampler",
		"jdk.CPUTimeSample#throttle=500/s":  "it is the interval of a sampler",
		"interval=1ms":                      "it is the interval of a sampler",
		"filename=/x":                       "filename may not be given: the trial says where the recording is written",
		"dumponexit=false":                  "dumponexit may not be given: the trial says where the recording is written",
		"repository=/x":                     "repository may not be given",
		"duration=1s":                       "the trial starts the recording",
		"maxsize=1m":                        "by limits.disk_mib",
		"settings=profile":                  "EVENT#SETTING=VALUE",
		"samplethreads=false":               "turn off the samplers",
		"1ms":                               `"1ms" is an interval, which is a field of its own, profiler.interval`,
		"20 ms":                             "is an interval",
		"5":                                 "an interval has a unit, as in 1ms",
	} {
		require.Contains(t, problem(recipe.ProfilerJFR, bad), want, bad)
	}
}

func TestOptionsOfAsyncProfiler(t *testing.T) {
	for _, good := range []string{
		"alloc", "alloc=512k", "alloc=0", "lock=10us", "wall=1ms", "wall=1000000", "wall", "chunksize=1m", "chunktime=5s", "chunktime=5",
		"jstackdepth=64", "mcache", "mcache=3", "safemode=31", "features=vtable+comptask", "threads", "clock=tsc", "event=itimer", "cstack=vmx",
		"include=java/*", "begin=main", "filter", "filter=1-5", "target-cpu=0",
	} {
		require.Empty(t, problem(recipe.ProfilerAsync, good), good)
	}
	for bad, want := range map[string]string{
		"wall=banana":      `expected wall=VALUE with a duration in nanoseconds or with one of ns, us, ms, s, got "wall=banana"`,
		"alloc=1x":         "a size in bytes or with one of b, k, m, g",
		"chunktime=500ms":  "a duration in seconds or with one of s, m, h, d",
		"jstackdepth=0":    "an integer from 1",
		"jstackdepth":      "expected jstackdepth=VALUE",
		"mcache=256":       "an integer from 0 to 255",
		"threads=2":        `threads has no value: leave "=2" out`,
		"threads=":         "threads has no value",
		"features=vtables": "one or more of comptask, pcaddr, probesp, stats, vtable, joined by +",
		"clock":            "one of monotonic, tsc",
		"include=":         "include= has no value",
		"interval=1ms":     "interval may not be given: it is a field of its own, profiler.interval",
		"1ms":              `"1ms" is an interval`,
		"cpu":              "write event=cpu",
		"title=x":          "the trial says where and in which format the recording is written",
	} {
		require.Contains(t, problem(recipe.ProfilerAsync, bad), want, bad)
	}
}
