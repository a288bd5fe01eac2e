package tapped

import (
	"cmp"
	"slices"

	"misstep/agent"
)

// key is a thread and a signal.
type key struct{ tid, signal uint32 }

// calls are the calls of handlers by thread and signal, those of each in the order of their beginning.
type calls map[key][]*agent.TapCall

// callsOf orders a tap's calls. A call inside another one of the same signal is left out: HotSpot resumes a suspended thread by the
// signal that suspended it (signals_posix.cpp: SR_handler), and a sampler's handler may call the one that was installed before it.
func callsOf(t *agent.Tap) calls {
	byKey := calls{}
	for i := range t.Calls {
		c := &t.Calls[i]
		k := key{c.TID, c.Signal}
		byKey[k] = append(byKey[k], c)
	}
	for k, list := range byKey {
		slices.SortStableFunc(list, func(a, b *agent.TapCall) int {
			return cmp.Or(cmp.Compare(a.BeginNanos, b.BeginNanos), cmp.Compare(a.Nested, b.Nested))
		})
		outer := list[:0]
		for _, c := range list {
			if n := len(outer); n > 0 && c.Nested > outer[n-1].Nested && c.EndNanos <= outer[n-1].EndNanos {
				continue
			}
			outer = append(outer, c)
		}
		byKey[k] = outer
	}
	return byKey
}

func (c calls) of(tid, signal uint32) []*agent.TapCall { return c[key{tid, signal}] }

// Why an event has no call, as the checks' reasons name it.
const (
	noSignal  = "no-signal"
	ambiguous = "ambiguous"
	NoClock   = "clock"
)

// Found is an event's call, or why there is none. Where no signal took the event but its thread did Stand, the call is none of a
// handler: it has the shadow that the thread had all the time.
type Found struct {
	Call  *agent.TapCall
	Why   string
	Stand bool
}

// match finds for each event the call of its thread during which it was taken: its time, with the offset added, lies in the call's
// window. An event has no call where there is none or several, and where another event has the same one: each call of a handler
// takes at most one sample.
func match(calls calls, events []*Event, k clock, offset int64) []Found {
	out := make([]Found, len(events))
	takers := map[*agent.TapCall]int{}
	for i, e := range events {
		out[i] = candidate(calls.of(e.TID, e.signal), k, e.ticks+offset)
		if c := out[i].Call; c != nil {
			takers[c]++
		}
	}
	for i, f := range out {
		if f.Call != nil && takers[f.Call] > 1 {
			out[i] = Found{Why: ambiguous}
		}
	}
	return out
}

// candidate finds the call at a time. One that had not returned when the JVM ended may have taken any later sample.
func candidate(list []*agent.TapCall, k clock, at int64) Found {
	later, _ := slices.BinarySearchFunc(list, at, func(c *agent.TapCall, at int64) int {
		if k.begin(c) > at {
			return 1
		}
		return -1
	})
	// Windows of one thread and signal follow each other, so that the last one that has begun is it: an earlier one that holds the
	// time as well is not of this thread's handler alone.
	var one *agent.TapCall
	for _, c := range list[max(later-2, 0):later] {
		switch {
		case c.EndNanos != 0 && at > k.end(c):
		case one != nil, c.EndNanos == 0:
			return Found{Why: ambiguous}
		default:
			one = c
		}
	}
	if one == nil {
		return Found{Why: noSignal}
	}
	return Found{Call: one}
}
