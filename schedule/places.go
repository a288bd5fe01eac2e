package schedule

import (
	"cmp"
	"slices"
	"time"
)

// MaxPlaces is the largest number of places at which a replay stops threads: the number of hardware breakpoints of an x86-64 CPU.
const MaxPlaces = 4

const (
	// near: instructions at most this many bytes apart are one place when counting how often threads lost their CPU there; a loop
	// has several.
	near = 32
	// A place is rare if it has at most one in `rare` of a log's stops, or at most rareLeast.
	rare, rareLeast = 50, 1
	few             = 4 // places are compared by how often they were seen in steps of this size: smaller differences mean nothing
	page            = 4096
	// A stop lasts as long as the thread was off its CPU in the log, within these bounds; a longer delay is kept.
	holdLeast, holdMost = uint64(200 * time.Microsecond), uint64(time.Millisecond)
	// Without rounds, a log's end is its last tailLeast decisions, or the last one in tailShare of all if those are more.
	tailLeast, tailShare = 64, 50
	ownMost              = 1000         // the most places of one thread: later ones are not the rare places of a failure
	userSpace            = 1<<47 - page // user programs are at lower addresses
)

// Stop is a place at which a thread lost its CPU: an instruction, and the decision there.
type Stop struct {
	Record
	// Held is how long the thread was off its CPU, in nanoseconds: its delay, or the time for which others had the CPU, limited to
	// 200 µs to 1 ms unless the delay is longer.
	Held uint64
	// Seen is how often threads lost their CPU there in the whole log; Of is how often they did at any place.
	Seen, Of int

	fresh int // 1 in code where no thread had lost its CPU before the end
	nth   int // index among the thread's rare places
}

// Stops returns the rare places at which threads lost their CPU in the last round, or without rounds near the log's end: those that
// likely mattered to how the run ended, the likeliest first. A rare bug needs a rare event, so the rarest places come first, and
// the first place of each thread comes before its second one. For one thread and one place only the first stop is returned. Code
// where no thread had lost its CPU before comes last: it usually prints the message about the failure. round is the number of
// threads of each round, 0 for no rounds. The error wraps ErrInvalid.
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
	ran := map[uint64]bool{} // pages where threads lost their CPU before the end
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
			if s.Seen > max(rareLeast, len(all)/rare) ||
				slices.ContainsFunc(own, func(p uint64) bool { return samePlace(p, d.Place) }) {
				continue
			}
			if i+1 < len(thread) && thread[i+1].Event == EventExpiry { // otherwise it may have run and blocked in between
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

// samePlace reports whether two addresses are one place.
func samePlace(a, b uint64) bool { return max(a, b)-min(a, b) <= near }

// tail returns the decisions of the round's threads, or without a round the log's last ones, thread by thread.
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

// Choose returns the first stops at up to the given number of different places, at most MaxPlaces. A place near another one counts
// as that one.
func Choose(stops []Stop, places int) (chosen []Stop) {
	var addresses []uint64
	for _, s := range stops {
		i := slices.IndexFunc(addresses, func(a uint64) bool { return samePlace(a, s.Place) })
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
