package chunks

import (
	"slices"
	"strings"
	"time"

	"misstep/recipe"
	"misstep/runner/recording"
)

// Constants whose definitions may differ within a chunk.
const (
	threadType = "java.lang.Thread"
	headerType = "jdk.types.ChunkHeader"
)

// nameFields of a thread are read when the thread is written, which is when it starts, when it ends, and when a chunk or a
// checkpoint is written (HotSpot jfrThreadState.cpp); its ids never change.
var nameFields = []string{"osName", "javaName", "group"}

// differenceRule returns the rule that permits an id to be defined with other contents, or "".
func differenceRule(d *recording.Differing) string {
	switch d.Type {
	case headerType:
		return recipe.RuleFlushedHeader
	case threadType:
		if !slices.ContainsFunc(strings.Split(d.Fields, ","), func(f string) bool { return !slices.Contains(nameFields, f) }) {
			return recipe.RuleRenamedThread
		}
	}
	return ""
}

// sampled are the events that get their time before they are written: the thread walks its own stack at its next safepoint.
var sampled = []string{"jdk.ExecutionSample", "jdk.NativeMethodSample", "jdk.CPUTimeSample"}

// timeRule returns the rule that permits events to end outside of their chunk, or "".
func timeRule(c *recording.Chunk, w *recording.Window, field string, outside int64) string {
	millisecond := int64(time.Millisecond)
	switch {
	case c.StartNanos%millisecond == 0 && c.DurationNanos%millisecond == 0 && outside < millisecond:
		return recipe.RuleMillisecondClock
	case field == "before" && slices.Contains(sampled, w.Type):
		return recipe.RuleSampledBeforeRotation
	}
	return ""
}
