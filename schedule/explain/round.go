package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Threads of the last round ran for this part of their time since its youngest one began; those that ran less were about to end.
const roundPart = 4

// lastRound returns, by index, the youngest thread of the program with the same creator as the given one, and those of the same
// creator that ran beside it: a program that repeats itself creates threads anew in each round.
func (t *Timeline) lastRound(ended int) (all []int) {
	var siblings []int
	youngest := ended
	for i := range t.Threads {
		own := &t.Threads[i]
		if own.works() && !own.idles() && len(own.Spans) > 0 && creator(own.Name) == creator(t.Threads[ended].Name) {
			siblings = append(siblings, i)
			if own.begin() > t.Threads[youngest].begin() {
				youngest = i
			}
		}
	}
	for _, i := range siblings {
		own := &t.Threads[i]
		if since := own.ran(t.Threads[youngest].begin(), t.End); since > 0 && since*roundPart >= own.ran(0, t.End) {
			all = append(all, i)
		}
	}
	return all
}

// creator returns the name of the thread that created the one with this name.
func creator(name string) string { return name[:max(0, strings.LastIndexByte(name, '.'))] }

// begin is when the thread's first span began.
func (t *Thread) begin() time.Duration {
	if len(t.Spans) == 0 {
		return 0
	}
	return t.Spans[0].From
}

// crossed reports whether one of the threads was away while another one of them ran.
func (t *Timeline) crossed(a Absence, threads []int) bool {
	return slices.Contains(threads, a.Thread) && slices.ContainsFunc(threads, func(i int) bool {
		return i != a.Thread && t.Threads[i].ran(a.From, a.To) > 0
	})
}

// ran is how long a thread ran in a time.
func (t *Thread) ran(from, to time.Duration) (all time.Duration) {
	for _, s := range t.during(from, to) {
		if s.State == Running {
			all += min(s.To, to) - max(s.From, from)
		}
	}
	return all
}

// together is when the last round began; the beginning of the log if it is of one thread.
func (x *Explanation) together() time.Duration {
	if len(x.round) < 2 {
		return 0
	}
	first := x.Moment
	for _, i := range x.round {
		first = min(first, x.timeline.Threads[i].begin())
	}
	return first
}

// turns says which threads the decisions are about.
func (x *Explanation) turns() string {
	switch n := len(x.Round); n {
	case 0, 1:
		return ""
	case 2:
		return fmt.Sprintf(": how %s and %s took turns", x.Round[0], x.Round[1])
	default:
		return fmt.Sprintf(": how %s, %s and %d more took turns", x.Round[0], x.Round[1], n-2)
	}
}
