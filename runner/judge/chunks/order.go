package chunks

import (
	"fmt"
	"math"
	"regexp"
	"time"

	"misstep/recipe"
	"misstep/runner/recording"
)

// begin judges a chunk's header by itself and by the chunk before it.
func (j *Judge) begin(c *recording.Chunk) {
	j.settle(c)
	if c.Index == 0 || j.chunk == nil || c.Index <= j.chunk.Index {
		j.recording++
		j.previous = nil
	} else {
		j.previous = j.chunk
	}
	j.chunk, j.unfinished, j.broken = c, false, false
	j.before, j.by = j.by, recorder{}
	j.pass(1)
	what, detail := disorder(c)
	if p := j.previous; what == "" && p != nil {
		what, detail = unordered(p, c)
		if what != "" && anotherClock(p, c) {
			j.jump = jump{what, detail}
			return
		}
		if what == StartBack && setBack(p, c) {
			j.tolerate(1, recipe.RuleWallClock)
			return
		}
	}
	if what != "" {
		j.mismatch(1, place{kind: recipe.KindChunkOrder, field: what}, detail)
	}
}

// settleClock judges a chunk that began by another clock than the one before it, at its end, when it is known who wrote it. The
// clock of one recorder in one JVM never goes back.
func (j *Judge) settleClock() {
	if jump := j.jump; jump.what == ticksBack && j.by == j.before && j.by.start != "" {
		j.mismatch(1, place{kind: recipe.KindChunkOrder, field: jump.what}, jump.detail)
	} else if jump.what != "" {
		j.tolerate(1, recipe.RuleAnotherClock)
	}
	j.jump = jump{}
}

// jump is what is wrong with the order of a chunk that began by another clock than the one before it.
type jump struct{ what, detail string }

// recorder is who wrote a chunk: async-profiler or JFR, in the JVM that started then; nothing where that is unknown.
type recorder struct {
	async bool
	start string
}

// note takes what a setting says of the recorder.
func (r *recorder) note(s *recording.Setting) {
	r.async = r.async || ByAsync(s)
	if s.Type == jvmInformation && s.Name == recording.JVMStart {
		r.start = s.Value
	}
}

// jvmInformation is the event in which a JVM says what it is.
const jvmInformation = "jdk.JVMInformation"

// disorder returns what is wrong with a chunk's times by themselves, without numbers and with them.
func disorder(c *recording.Chunk) (what, detail string) {
	switch {
	case c.TicksPerSecond <= 0:
		return "frequency", fmt.Sprintf("%d ticks a second", c.TicksPerSecond)
	case c.StartNanos <= 0:
		return "start", fmt.Sprintf("%d ns since the epoch", c.StartNanos)
	case c.DurationNanos < 0:
		return "duration", fmt.Sprintf("%d ns", c.DurationNanos)
	}
	return "", ""
}

const ticksBack = "ticks before the previous chunk"

// StartBack is the field of the fault of a chunk that begins before the end of the one before it.
const StartBack = "start before the previous chunk's end"

// unordered returns what is wrong with the times of a chunk after another one. The duration of an unfinished chunk is that at
// its last flush, so that only a chunk before one is bounded by it.
func unordered(p, c *recording.Chunk) (what, detail string) {
	switch {
	case c.StartTicks <= p.StartTicks:
		return ticksBack, fmt.Sprintf("%d, the previous chunk begins at %d", c.StartTicks, p.StartTicks)
	case c.StartNanos < p.StartNanos+p.DurationNanos:
		return StartBack,
			fmt.Sprintf("by %v", time.Duration(p.StartNanos+p.DurationNanos-c.StartNanos))
	}
	return "", ""
}

// anotherClock reports whether the ticks of two chunks count from times that are more than a second apart.
func anotherClock(p, c *recording.Chunk) bool {
	return p.TicksPerSecond > 0 && math.Abs(Origin(p)-Origin(c)) > SameClock
}

// SameClock is how far the origins of two chunks may be apart that have one clock, in seconds.
const SameClock = 1

// Origin is the time of a chunk's tick 0, in seconds since the epoch.
func Origin(c *recording.Chunk) float64 {
	return float64(c.StartNanos)/float64(time.Second) - float64(c.StartTicks)/float64(c.TicksPerSecond)
}

// Where the events of a type lie outside of their chunk.
const (
	sideBefore = "before"
	SideAfter  = "after"
)

// window judges the times of the events of one type. An unfinished chunk has no end yet.
func (j *Judge) window(w *recording.Window) {
	if j.chunk == nil {
		return // no helper writes that
	}
	j.pass(1)
	j.dump = j.dump || w.Type == dumpReason
	before, after := -w.FirstNanos, w.LastNanos-j.chunk.DurationNanos
	if j.unfinished {
		after = 0
	}
	tolerated := ""
	for _, side := range []struct {
		field   string
		outside int64
	}{{sideBefore, before}, {SideAfter, after}} {
		if side.outside <= 0 {
			continue
		}
		rule := timeRule(j.chunk, w, side.field, side.outside)
		if rule == "" && side.field == sideBefore && after <= 0 && javaEvent(w.Type) {
			j.early.windows = append(j.early.windows, w) // until all events were read
			return
		}
		if rule == "" && side.field == SideAfter && before <= 0 {
			j.late = append(j.late, w) // until the next chunk begins
			return
		}
		if rule == "" {
			j.untimely(w, side.field, side.outside)
			return
		}
		tolerated = rule
	}
	if tolerated != "" {
		j.tolerate(1, tolerated)
	}
}

// untimely is a mismatch of the times of the events of a type, which lie outside of the chunk by so many nanoseconds.
func (j *Judge) untimely(w *recording.Window, side string, outside int64) {
	j.mismatch(1, place{kind: recipe.KindEventTime, typeName: w.Type, field: side},
		fmt.Sprintf("by up to %v, of %d events", time.Duration(outside), w.Events))
}

var numberRE = regexp.MustCompile(`-?\d+`)

// problem judges what the reader could not read. A chunk that the recorder did not finish is read as far as it goes.
func (j *Judge) problem(p *recording.Problem) {
	switch p.Kind {
	case recording.CutFile, recording.Unfinished:
		j.unfinished = true
		j.count.Total++
		j.count.Tolerated[recipe.RuleUnfinishedChunk]++
	case recording.Limit:
		j.count.Total++
		j.count.Void[recipe.ReadingLimit]++
	case recording.Layout, recording.Parser, recording.UnspecifiedProblem:
		ofChunk := p.Chunk == j.index()
		if ofChunk && j.broken {
			return // it follows from the first one
		}
		j.broken = ofChunk
		j.pass(1)
		if ofChunk && j.unfinished {
			j.tolerate(1, recipe.RuleUnfinishedChunk)
			return
		}
		at := place{kind: recipe.KindChunkLayout, field: numberRE.ReplaceAllString(p.Message, "N")}
		if j.entry(at).GetCount() == 0 {
			j.entry(at).RecordingFault.Chunk = uint32(p.Chunk)
		}
		j.mismatch(1, at, p.Message)
	}
}
