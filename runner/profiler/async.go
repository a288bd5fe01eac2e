package profiler

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// asyncProfiler is async-profiler (tools.profiler:async-profiler on Maven Central), which samples in the handler of SIGPROF and
// writes recordings in JFR's format. Its options are those of its agent (async-profiler arguments.cpp).
//
// It adds chunks to one file while the JVM runs. The constants of a chunk are written when the chunk ends, so of a JVM that is
// killed the last chunk is lost.
type asyncProfiler struct{}

const (
	fileAsync    = "async-profiler.jfr"
	fileAsyncLog = "async-profiler.log"

	walkerOption  = "cstack"
	defaultWalker = "vm"
)

// Walker returns which of async-profiler's walkers a recipe's options choose: "no" is AsyncGetCallTrace alone.
func Walker(r *misstepv1.Recipe) string {
	walker := defaultWalker
	for _, o := range r.GetProfiler().GetOptions() {
		if value, ok := strings.CutPrefix(o, walkerOption+"="); ok {
			walker = value
		}
	}
	return walker
}

func (asyncProfiler) Name() string { return recipe.ProfilerAsync }

func (asyncProfiler) Library() string { return "libasyncProfiler.so" }

func (asyncProfiler) Supports(JDK) error { return nil }

func (asyncProfiler) Files(Settings) (map[string][]byte, error) { return nil, nil }

func (asyncProfiler) Arguments(s Settings, at Place) ([]string, error) {
	options := map[string]string{
		// ctimer needs no perf_events, which kernels often forbid.
		"event": "ctimer", "interval": strconv.FormatInt(s.Interval.Microseconds(), 10) + "us",
		"jstackdepth": strconv.Itoa(max(s.Depth, 1)), "chunktime": "5s", walkerOption: defaultWalker,
	}
	for _, o := range s.Options {
		key, value, _ := strings.Cut(o, "=")
		options[key] = value
	}
	maps.Copy(options, map[string]string{
		"file": filepath.Join(at.Out, fileAsync), "log": filepath.Join(at.Out, fileAsyncLog), "quiet": "",
		// Its defaults, but without being told it takes another signal where one has a handler, of which the tap knows nothing
		// (async-profiler os_linux.cpp, getProfilingSignal). The second one is the wall clock's.
		"signal": fmt.Sprintf("%d/%d", unix.SIGPROF, unix.SIGVTALRM),
	})
	if err := passable(options); err != nil {
		return nil, err
	}
	words := []string{"start", "jfr"}
	for _, key := range slices.Sorted(maps.Keys(options)) {
		if options[key] != "" {
			key += "=" + options[key]
		}
		words = append(words, key)
	}
	return []string{"-agentpath:" + at.Library + "=" + strings.Join(words, ",")}, nil
}

// Refusal: the agent begins its log with why it does not start. The JVM then ends silently, or runs without the profiler.
func (asyncProfiler) Refusal(at Place, _ []byte) string {
	log, err := readSmall(at.Out, fileAsyncLog)
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(asyncError.Find(log)))
}

var asyncError = regexp.MustCompile(`^\[ERROR\].*`)

func (asyncProfiler) groups() []group { return []group{{pattern: fileAsync}} }
