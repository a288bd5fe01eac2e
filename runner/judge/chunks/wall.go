package chunks

import (
	"time"

	"misstep/recipe"
	"misstep/runner/recording"
)

// HotSpot stamps a chunk's start and its end, which is the start of the next one, with the wall clock and then with ticks
// (jfrChunk.cpp: set_time_stamp, nanos_now), and events with ticks only. Where the wall clock goes slower than the ticks, is coarse
// or was set back, events lie behind the duration in the header, though before the ticks at which the next chunk begins.

// slew is how many nanoseconds of a chunk the wall clock may lose one in: 500 ppm, at which the kernel bounds it (adjtimex(2)).
const slew = 2000

// drift is how far the two clocks may part in a time, in nanoseconds: besides the slew, a tick of a clock of milliseconds.
func drift(nanos int64) int64 { return nanos/slew + millisecond }

// span is the time between the ticks at which two chunks begin, in nanoseconds; false if ticks differ in length or go back.
func span(from, to *recording.Chunk) (nanos int64, known bool) {
	if from.TicksPerSecond <= 0 || from.TicksPerSecond != to.TicksPerSecond || to.StartTicks <= from.StartTicks {
		return 0, false
	}
	ticks := float64(to.StartTicks - from.StartTicks)
	return int64(ticks * float64(time.Second) / float64(from.TicksPerSecond)), true
}

// setBack reports whether a chunk begins before the end of the one before it by the wall clock only. From JDK 14 on a JVM's stamps
// never go back (nanos_now); those before are of the clock in milliseconds as it is (jfrChunkState.cpp).
func setBack(before, c *recording.Chunk) bool {
	passed, known := span(before, c)
	return known && wholeMilliseconds(before.StartNanos) && wholeMilliseconds(c.StartNanos) &&
		passed+drift(before.DurationNanos) >= before.DurationNanos
}

// settleLate judges the events that ended after the chunk that has been read. Where the next chunk has the same stamp, its ticks
// bound them.
func (j *Judge) settleLate(next *recording.Chunk) {
	for _, w := range j.late {
		outside := w.LastNanos - j.chunk.DurationNanos
		bound := drift(j.chunk.DurationNanos)
		if next != nil && next.Index > j.chunk.Index && next.StartNanos == j.chunk.StartNanos+j.chunk.DurationNanos {
			if passed, known := span(j.chunk, next); known {
				bound = passed - j.chunk.DurationNanos + 1 // a nanosecond for the rounding
			}
		}
		if outside <= bound && j.writer == "" && !j.by.async {
			j.tolerate(1, recipe.RuleWallClock)
			continue
		}
		j.untimely(w, SideAfter, outside)
	}
	j.late = nil
}
