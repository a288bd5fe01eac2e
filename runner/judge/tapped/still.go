package tapped

import (
	"cmp"
	"slices"
	"time"

	"misstep/agent"
)

// stills are the times in which threads did not run, of each thread by their begin: the longest of those that begin together.
type stills map[uint32][]*agent.TapStill

func stillsOf(t *agent.Tap) stills {
	all := stills{}
	for i := range t.Stills {
		all[t.Stills[i].TID] = append(all[t.Stills[i].TID], &t.Stills[i])
	}
	for tid, list := range all {
		slices.SortFunc(list, func(a, b *agent.TapStill) int {
			return cmp.Or(cmp.Compare(a.SinceNanos, b.SinceNanos), cmp.Compare(b.UntilNanos, a.UntilNanos))
		})
		all[tid] = slices.CompactFunc(list, func(a, b *agent.TapStill) bool { return a.SinceNanos == b.SinceNanos })
	}
	return all
}

const (
	// stoodBefore is how long a thread must have stood before an event's time, and stoodAfter how long after it: the sampler notes
	// the time and then walks, and a busy machine may stop it in between.
	stoodBefore = time.Millisecond
	stoodAfter  = 20 * time.Millisecond
)

// standing finds the shadow of an event that no signal took, if its thread did not run around it.
func standing(all stills, k clock, e *Event, offset int64) Found {
	list, at := all[e.TID], e.ticks+offset
	later, _ := slices.BinarySearchFunc(list, at, func(s *agent.TapStill, at int64) int {
		if since, _ := k.still(s); since > at {
			return 1
		}
		return -1
	})
	if later == 0 {
		return Found{Why: noSignal}
	}
	s := list[later-1]
	since, until := k.still(s)
	// In the clock's ticks, by the still time's own rate.
	per := float64(until-since) / float64(max(s.UntilNanos-s.SinceNanos, 1))
	if at-since < int64(per*float64(stoodBefore)) || until-at < int64(per*float64(stoodAfter)) {
		return Found{Why: noSignal}
	}
	return Found{Stand: true, Call: &agent.TapCall{
		TID: s.TID, Shadow: true, Overflow: s.Overflow, Carrier: s.Carrier, Entries: s.Entries, Depth: s.Depth,
		BeginNanos: s.SinceNanos, EndNanos: s.UntilNanos, BeginTicks: s.SinceTicks, EndTicks: s.UntilTicks,
	}}
}
