// Package profiler starts the profilers that can run in a trial's JVM, and finds the recordings that they left.
//
// A profiler is a row of the table below, with a small file: which JDKs have it, by which arguments a JVM starts it, where its
// recording lies when the JVM ended, crashed or was killed. The signals in whose handlers it samples are the agent's knowledge
// (agent.OptionsOf), since the agent taps them.
package profiler

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// Profiler is one profiler. Its methods have no state and can be called from any goroutine.
type Profiler interface {
	// Name is its name in a recipe, one of recipe.Profilers.
	Name() string
	// Library is the file name of its library, which Place.Library then names; empty for a profiler that the JDK contains.
	Library() string
	// Supports returns an error that says what a JDK lacks to run it.
	Supports(jdk JDK) error
	// Files returns the files that must be in Place.Files before the JVM starts, by name.
	Files(s Settings) (map[string][]byte, error)
	// Arguments returns the arguments of the JVM. They belong after a recipe's own, since the last option of a kind wins: the
	// places must be Misstep's. The error is about a place that cannot be passed on.
	Arguments(s Settings, p Place) ([]string, error)
	// Refusal returns the reason that a JVM gave for not starting under the profiler, "" when it gave none. output is what it wrote
	// to its standard streams.
	Refusal(p Place, output []byte) string
	// groups returns the files that a JVM may have left as its recording, by how it ended: each group is the whole of it.
	groups() []group
}

// group is files that are one recording, in the order of their beginnings: those that match a pattern of path.Match below
// Place.Out, or below Place.Work where inWork is set.
type group struct {
	inWork  bool
	pattern string
}

// JDK is a JDK that is to run a profiler.
type JDK struct {
	// Home is its JAVA_HOME.
	Home string
	// Feature is its feature version.
	Feature int
}

// Settings are what a recipe asks of its profiler.
type Settings struct {
	// Interval between two samples of a thread.
	Interval time.Duration
	// Options in the profiler's own syntax.
	Options []string
	// Depth is the number of frames of a stack trace.
	Depth int
	// Bytes bounds the recording where the profiler can: it then drops the oldest samples.
	Bytes int64
}

// SettingsOf returns the settings of a recipe that has a profiler.
func SettingsOf(r *misstepv1.Recipe) Settings {
	limits := recipe.EffectiveLimits(r.GetLimits())
	return Settings{
		Interval: recipe.ProfilerInterval(r.GetProfiler()), Options: r.GetProfiler().GetOptions(),
		Depth: int(limits.GetStackDepth()),
		// The dump at the end of the JVM is a copy of what is already there.
		Bytes: int64(limits.GetDiskMib()) << 20 / 4,
	}
}

// Place says where files are. Paths are absolute.
type Place struct {
	// Out is the folder for the recording. It exists, and the JVM may write to it.
	Out string
	// Work is the JVM's working folder.
	Work string
	// Files is the folder of what Profiler.Files returned.
	Files string
	// Library is the path of the profiler's library.
	Library string
}

// table has all profilers. One more is a file and a row.
var table = []Profiler{jfr{}, asyncProfiler{}}

// All returns all profilers.
func All() []Profiler { return slices.Clone(table) }

// Of returns the profiler of a recipe, nil for none. What is wrong with it or its options is an error: the other functions take it
// as it is.
func Of(r *misstepv1.Recipe) (Profiler, error) {
	if err := recipe.ValidateProfiler(r.GetProfiler()); err != nil {
		return nil, err
	}
	for _, p := range table {
		if p.Name() == r.GetProfiler().GetName() {
			return p, nil
		}
	}
	return nil, nil
}

// passable returns an error for a value that would end an option in a list with commas.
func passable(options map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(options)) {
		if value := options[key]; strings.ContainsAny(value, ",\n") {
			return fmt.Errorf("the profiler's option %s: %q has a comma or a line break, which ends the option: "+
				"choose another folder", key, value)
		}
	}
	return nil
}

// list joins assignments by commas, in the order of the keys.
func list(options map[string]string) string {
	words := make([]string, 0, len(options))
	for _, key := range slices.Sorted(maps.Keys(options)) {
		words = append(words, key+"="+options[key])
	}
	return strings.Join(words, ",")
}
