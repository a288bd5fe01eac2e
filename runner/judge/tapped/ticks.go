package tapped

import (
	"cmp"
	"math"
	"slices"

	"misstep/agent"
	"misstep/runner/recording"
)

// A recording's clock counts the ticks of the counter that the tap reads, from another zero: HotSpot subtracts what the counter was
// at its start (cpu/x86/rdtsc_x86.cpp), and async-profiler takes over the JVM's zero (tsc.cpp). Where the JVM does not use that
// counter its ticks are CLOCK_MONOTONIC, likewise from another zero (os_posix.cpp: elapsed_counter). So one number, the same for
// the life of the JVM, turns the one into the other exactly, whatever happened to the system's time and however inaccurate the
// frequency in a chunk's header is. It is the one with which most events lie in a call.

// instant is the time of an event in the ticks of its recording.
func instant(c *recording.Chunk, startNanos int64) int64 {
	nanos, perSecond := startNanos-c.StartNanos, c.TicksPerSecond
	const second = 1_000_000_000
	return c.StartTicks + nanos/second*perSecond + nanos%second*perSecond/second
}

// clock is one of the tap's clocks.
type clock struct {
	begin, end func(*agent.TapCall) int64
	still      func(*agent.TapStill) (since, until int64)
	at         func(agent.TapClock) int64
}

var (
	counter = clock{
		func(c *agent.TapCall) int64 { return int64(c.BeginTicks) },
		func(c *agent.TapCall) int64 { return int64(c.EndTicks) },
		func(s *agent.TapStill) (since, until int64) { return int64(s.SinceTicks), int64(s.UntilTicks) },
		func(c agent.TapClock) int64 { return int64(c.Ticks) },
	}
	monotonic = clock{
		func(c *agent.TapCall) int64 { return int64(c.BeginNanos) },
		func(c *agent.TapCall) int64 { return int64(c.EndNanos) },
		func(s *agent.TapStill) (since, until int64) { return int64(s.SinceNanos), int64(s.UntilNanos) },
		func(c agent.TapClock) int64 { return int64(c.MonotonicNanos) },
	}
)

// atRealtime converts CLOCK_REALTIME to the clock by the nearest clocks that are known.
func (k clock) atRealtime(t *agent.Tap, realtimeNanos int64) int64 {
	if len(t.Clocks) == 0 {
		return 0
	}
	nearest := slices.MinFunc(t.Clocks, func(a, b agent.TapClock) int {
		return cmp.Compare(distance(int64(a.RealtimeNanos), realtimeNanos), distance(int64(b.RealtimeNanos), realtimeNanos))
	})
	return k.at(nearest) + int64(float64(realtimeNanos-int64(nearest.RealtimeNanos))*k.perNano(t))
}

// perNano is the clock's rate, from the first and the last clocks that are known.
func (k clock) perNano(t *agent.Tap) float64 {
	if len(t.Clocks) < 2 {
		return 1
	}
	first, last := t.Clocks[0], t.Clocks[len(t.Clocks)-1]
	if last.MonotonicNanos <= first.MonotonicNanos {
		return 1
	}
	return float64(k.at(last)-k.at(first)) / float64(last.MonotonicNanos-first.MonotonicNanos)
}

func distance(a, b int64) int64 { return max(a-b, b-a) }

// zero returns what is to be added to the recording's ticks to get the tap's, and the share of the events that then lie in a call
// of their thread. guess is near it: no further than reach away. Each pair of an event and a call votes for the offsets with which
// the event lies in the call's window; the narrower that is, the less likely it does by chance, and the more the vote counts (the
// sum is a logarithm of a likelihood). The result is the middle of the best offsets.
func (k clock) zero(calls calls, events []*Event, guess func(*Event) int64, reach int64) (offset int64, share float64) {
	type edge struct{ at, weight int64 }
	var edges []edge
	voters := 0
	for _, e := range events {
		about, has := e.ticks+guess(e), false
		for _, c := range calls.of(e.TID, e.signal) {
			begin, end := k.begin(c), k.end(c)
			if c.EndNanos == 0 || end < about-reach || begin > about+reach {
				continue
			}
			has = true
			weight := 1 + int64(1000*math.Log1p(float64(2*reach)/float64(1+max(end-begin, 0))))
			edges = append(edges, edge{begin - e.ticks, weight}, edge{end - e.ticks + 1, -weight})
		}
		if has {
			voters++
		}
	}
	if voters == 0 {
		return 0, 0
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.weight, b.weight)) })
	var best, now, from, to int64
	for i, e := range edges[:len(edges)-1] {
		now += e.weight
		next := edges[i+1].at
		switch {
		case next == e.at:
		case now > best:
			best, from, to = now, e.at, next
		case now == best && e.at == to:
			to = next
		}
	}
	offset = from + (to-1-from)/2
	inside := 0
	for _, e := range events {
		if candidate(calls.of(e.TID, e.signal), k, e.ticks+offset).Why != noSignal {
			inside++
		}
	}
	return offset, float64(inside) / float64(voters)
}
