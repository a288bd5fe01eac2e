package schedule

import (
	"cmp"
	"slices"
	"time"
)

// MaxPlaces at which a replay stops threads: the processor has so many breakpoints.
const MaxPlaces = 4

const (
	// near: instructions so many bytes apart are one place when it is counted how often threads lost their CPU there; a loop has
	// several.
	near = 32
	// rare is a place that has at most one in so many of a log's, or rareLeast.
	rare, rareLeast = 50, 1
	few             = 4 // times that a place was seen tell nothing against each other below
	page            = 4096
	// A stop lasts as long as the thread was off its CPU then, within these bounds; a longer delay stays.
	holdLeast, holdMost = uint64(200 * time.Microsecond), uint64(time.Millisecond)
	// What counts as a log's end where no round does: so many decisions, or one in so many.
	tailLeast, tailShare = 64, 50
	ownMost              = 1000         // places of one thread: more are not the rare ones of a failure
	userSpace            = 1<<47 - page // addresses of user programs are below
)

// Stop is a place at which a thread lost its CPU: an instruction, and the decision there.
type Stop struct {
	Record
	// Held is for how long, in nanoseconds: its delay, or while others had the CPU, from 200 µs to 1 ms if the delay is not longer.
	Held uint64
	// Seen is how often threads lost their CPU there in the whole log, of Of times at any place.
	Seen, Of int

	fresh int // 1 in code where nobody had lost the CPU before the end
	nth   int // of the thread's rare places
}

// Stops lists the rare places at which threads lost their CPU in the round, or without one near the log's end: those that have
// likely mattered to how the run ended, the likeliest first. Since a bug is rare, so is what it takes: the rarest places come
// first, and of each thread the first one before its second one. Of one thread at one place there is its first stop only. Code
// where nobody lost the CPU until then comes last: it is that of a message about the failure. A round is that of Options; 0 is
// none. The error wraps ErrInvalid.
func (l *Log) Stops(round int) ([]Stop, error) {
	r, err := l.LastRound(round)
	if err != nil {
		return nil, err
	}
	tail := l.tail(r)
	ended := map[*Record]bool{}
	for _, thread := range tail {
		for _, d := range thread {
			ended[d] = true
		}
	}
	var all []uint64
	ran := map[uint64]bool{} // pages, before the end
	for i := range l.Decisions {
		if d := &l.Decisions[i]; d.Place != 0 && d.Place < userSpace {
			all = append(all, d.Place)
			if !ended[d] {
				ran[d.Place/page] = true
			}
		}
	}
	slices.Sort(all)
	var stops []Stop
	for _, thread := range tail {
		var own []uint64
		for i, d := range thread {
			if d.Event != EventExpiry || d.Place == 0 || d.Place >= userSpace || len(own) == ownMost {
				continue
			}
			low, _ := slices.BinarySearch(all, d.Place-min(d.Place, near))
			high, _ := slices.BinarySearch(all, d.Place+near+1)
			s := Stop{Record: *d, Held: d.Delay, Seen: high - low, Of: len(all), nth: len(own)}
			if len(ran) > 0 && !ran[d.Place/page] {
				s.fresh = 1
			}
			if s.Seen > max(rareLeast, len(all)/rare) || slices.ContainsFunc(own, func(p uint64) bool { return alike(p, d.Place) }) {
				continue
			}
			if i+1 < len(thread) && thread[i+1].Event == EventExpiry { // else it may have run and blocked meanwhile
				s.Held = max(s.Held, uint64(max(0, thread[i+1].Elapsed-d.Elapsed-time.Duration(d.Slice))))
			}
			s.Held = min(max(s.Held, holdLeast), max(holdMost, d.Delay))
			stops = append(stops, s)
			own = append(own, d.Place)
		}
	}
	slices.SortStableFunc(stops, func(a, b Stop) int {
		return cmp.Or(cmp.Compare(a.fresh, b.fresh), cmp.Compare(a.Seen/few, b.Seen/few), cmp.Compare(a.nth, b.nth),
			cmp.Compare(b.Held, a.Held), cmp.Compare(a.Path, b.Path))
	})
	return stops, nil
}

// alike tells whether two addresses are one place.
func alike(a, b uint64) bool { return max(a, b)-min(a, b) <= near }

// tail is the decisions of the round's threads, or the log's last ones, thread by thread.
func (l *Log) tail(r Round) [][]*Record {
	var decisions []*Record
	for i := range l.Decisions {
		decisions = append(decisions, &l.Decisions[i])
	}
	if r.Threads == 0 {
		slices.SortStableFunc(decisions, func(a, b *Record) int { return cmp.Compare(a.Elapsed, b.Elapsed) })
		decisions = decisions[max(0, len(decisions)-max(tailLeast, len(decisions)/tailShare)):]
	}
	index := map[uint64]int{} // of the thread with this path
	for i := range r.Threads {
		index[Child(r.Parent, uint64(r.First+i))] = int(i)
	}
	threads := make([][]*Record, r.Threads)
	for _, d := range decisions {
		i, known := index[d.Path]
		if !known {
			if r.Threads != 0 {
				continue
			}
			i = len(threads)
			index[d.Path] = i
			threads = append(threads, nil)
		}
		threads[i] = append(threads[i], d)
	}
	return threads
}

// Choose takes the first stops at so many different places, to MaxPlaces. Those near another are taken for that one.
func Choose(stops []Stop, places int) (chosen []Stop) {
	var addresses []uint64
	for _, s := range stops {
		i := slices.IndexFunc(addresses, func(a uint64) bool { return alike(a, s.Place) })
		if i < 0 {
			if len(addresses) >= min(places, MaxPlaces) {
				continue
			}
			i = len(addresses)
			addresses = append(addresses, s.Place)
		}
		s.Place = addresses[i]
		if !slices.ContainsFunc(chosen, func(x Stop) bool { return x.Path == s.Path && x.Place == s.Place }) {
			chosen = append(chosen, s)
		}
	}
	return chosen
}
