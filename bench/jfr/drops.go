package main

import (
	"math"

	"misstep/recipe"
	"misstep/runner/recording"
)

// dropped says whether one lost sample could be noticed: no check counts the calls of a sampler's handler, which the tap notes,
// against its samples. It could where each call of a thread left a sample, or is counted as lost.
type dropped struct {
	JDK, Profiler, Sampler string
	Threads                int
	// Calls of the handler while the recording ran, samples, and those that the recorder counts as lost.
	Calls, Samples, Lost int
	// Exact are the samples of threads whose calls are all accounted for: there one less would be noticed.
	Exact int
}

// drops accounts for the calls of the samplers' handlers of a run.
func drops(m *material) (all []dropped) {
	signals := map[string]uint32{cpuTimeSample: m.tap.Signals[0], executionSample: m.tap.Signals[1]}
	if m.profiler.GetName() == recipe.ProfilerAsync {
		signals = map[string]uint32{executionSample: m.tap.Signals[0]}
	}
	begin, to := window(m.records)
	for _, sampler := range []string{cpuTimeSample, executionSample} {
		signal := signals[sampler]
		if signal == 0 {
			continue
		}
		// What was sampled before the tap stood there has no call.
		from := max(begin, m.firstCall(signal))
		calls := map[uint32]int{}
		for i := range m.tap.Calls {
			c := &m.tap.Calls[i]
			// HotSpot resumes a thread by the signal that suspended it, inside of the call.
			if at := int64(m.tap.Realtime(c.BeginNanos)); c.Signal == signal && c.Nested == 0 && at >= from && at <= to {
				calls[c.TID]++
			}
		}
		samples, lost := map[uint32]int{}, map[uint32]int{}
		for _, record := range m.records {
			switch r := record.(type) {
			case *recording.Event:
				if r.Type == sampler && r.Thread != nil && r.StartNanos >= from-clockError {
					samples[uint32(r.Thread.OS)]++
				}
			case *recording.Lost:
				if r.Thread != nil && sampler == cpuTimeSample && r.StartNanos >= from-clockError {
					lost[uint32(r.Thread.OS)] += int(r.Samples)
				}
			}
		}
		if d := account(calls, samples, lost); d.Samples > 0 {
			d.JDK, d.Profiler, d.Sampler = m.on.Name, profilerName(m.profiler), sampler
			all = append(all, d)
		}
	}
	return all
}

// clockError is how far the times of recordings and of the tap are apart at most, in nanoseconds; far less than until the tap looks
// again.
const clockError = 100e3

// firstCall is when the tap noted its first call of a signal's handler, in nanoseconds since the epoch.
func (m *material) firstCall(signal uint32) int64 {
	first := int64(math.MaxInt64)
	for i := range m.tap.Calls {
		if c := &m.tap.Calls[i]; c.Signal == signal {
			first = min(first, int64(m.tap.Realtime(c.BeginNanos)))
		}
	}
	return first
}

// account adds up calls, samples and losses by thread.
func account(calls, samples, lost map[uint32]int) (d dropped) {
	for tid, n := range samples {
		d.Threads++
		d.Calls += calls[tid]
		d.Samples += n
		d.Lost += lost[tid]
		if calls[tid] == n+lost[tid] {
			d.Exact += n
		}
	}
	return d
}

// window is the time from the first chunk's start to the last one's end, in nanoseconds since the epoch.
func window(records []recording.Record) (from, to int64) {
	for _, record := range records {
		if c, is := record.(*recording.Chunk); is {
			if from == 0 || c.StartNanos < from {
				from = c.StartNanos
			}
			to = max(to, c.StartNanos+c.DurationNanos)
		}
	}
	return from, to
}
