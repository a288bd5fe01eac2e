package recipe

import (
	_ "embed" // for the events
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"misstep/internal/suggest"
)

// jfrEventsText has the events of JFR in JDK 8 to 28, a line each: the name and the settings besides "enabled". The test of
// runner/profiler that asks the JDKs for theirs writes it.
//
//go:embed jfr_events.txt
var jfrEventsText string

// jfrEvents returns the settings of each event of JFR by its name.
var jfrEvents = sync.OnceValue(func() map[string][]string {
	events := map[string][]string{}
	for line := range strings.Lines(jfrEventsText) {
		words := strings.Fields(line)
		events[words[0]] = append([]string{"enabled"}, words[1:]...)
	}
	return events
})

const (
	timespan = `\d+ *(ns|us|ms|s|m|h|d)`
	// eventPrefix begins the names of JFR's own events.
	eventPrefix = "jdk."
)

// settingValues are the values of settings by name (jdk.jfr.internal.settings). JFR warns of values of another form and continues
// without them.
var settingValues = map[string]allowed{
	"cutoff":  matching("a duration with a unit, such as 10 ms, or infinity", timespan+"|infinity"),
	"enabled": oneOf("true", "false"),
	"filter":  matching("classes, methods or annotations", ".+"),
	"level":   oneOf("all", "forRemoval"),
	"period": matching("a duration with a unit, such as 10 ms, or one of beginChunk, endChunk, everyChunk",
		timespan+"|(begin|end|every)Chunk"),
	"stackTrace": oneOf("true", "false"),
	"threshold":  matching("a duration with a unit, such as 10 ms, or infinity", timespan+"|infinity"),
	"throttle":   matching("a rate, such as 100/s, or off", `\d+ */ *(ns|us|ms|s|m|h|d)|off`),
}

// settingProblem returns what is wrong with a setting of an event, "" if nothing. A program may have events of its own, with
// settings of its own.
func settingProblem(event, setting, value string) string {
	settings, known := jfrEvents()[event]
	if !known {
		_, unprefixed := jfrEvents()[eventPrefix+event]
		if unprefixed || len(event) >= len(eventPrefix) && strings.EqualFold(event[:len(eventPrefix)], eventPrefix) {
			return fmt.Sprintf("JFR has no event %s in JDK 8 to 28%s", suggest.Quote(event), nearestEvent(event))
		}
	}
	if known && !slices.Contains(settings, setting) {
		return fmt.Sprintf("the event %s has no setting %s%s", event, suggest.Quote(setting), suggest.Among(setting, settings))
	}
	if values, ok := settingValues[setting]; ok {
		return values.problem(event+"#"+setting, value)
	}
	return ""
}

// nearestEvent asks whether the event that is nearest to an unknown name is meant. Most events have names of several words, of
// which one may be missing.
func nearestEvent(name string) string {
	names := slices.Sorted(maps.Keys(jfrEvents()))
	if nearest := suggest.Nearest(eventPrefix+strings.TrimPrefix(name, eventPrefix), names); nearest != "" {
		return fmt.Sprintf(", did you mean %s?", nearest)
	}
	return ""
}
