package explain

import (
	"cmp"
	"slices"
	"time"

	"misstep/schedule"
)

const (
	// The log is looked at in so many equal parts. In a standstill, a tenth of all at least, each part has less than a twentieth of
	// the records of the busiest one.
	parts, quietParts, quietShare = 100, 10, 20
	// A thread fell silent if it was blocked for so many times as long as ever before and for this part of the log, and ran at most
	// so often afterwards, to end.
	silentTimes, silentPart, silentRuns = 4, 10, 4
	leastSilence                        = time.Millisecond // of a standstill, too
)

// find finds the moment.
func (x *Explanation) find(times []time.Duration) {
	t := x.timeline
	if still, found := standstill(times); found {
		x.Silent = t.blockedIn(still)
		// A compiler may have worked on for a moment: what matters is when the last thread of the program blocked.
		if len(x.Silent) > 0 && x.Silent[0].Since >= still.From-t.End/parts {
			still.From = x.Silent[0].Since
		}
		x.Moment, x.Standstill = still.From, still.Length()
		return
	}
	if x.Silent = t.silent(times[len(times)/2]); len(x.Silent) > 0 {
		x.Moment = x.Silent[0].Since
		return
	}
	if ended, found := t.ended(); found {
		x.Moment, x.Ended = t.Threads[ended].end(), t.Threads[ended].Label()
		x.round = t.lastRound(ended)
		for _, i := range x.round {
			x.Round = append(x.Round, t.Threads[i].Label())
		}
	}
}

// standstill returns the longest time in which hardly anything ran, if it begins in the later half of the records and lasts until
// about the end. A JVM is never quite still: its threads look now and then whether there is something to do.
func standstill(times []time.Duration) (still Span, found bool) {
	end := times[len(times)-1]
	width := end/parts + 1
	var counts [parts]int
	for _, at := range times {
		counts[at/width]++
	}
	first, length := 0, 0
	for i := 0; i < parts; i++ {
		n := 0
		for i+n < parts && counts[i+n]*quietShare < slices.Max(counts[:]) {
			n++
		}
		if n > length {
			first, length = i, n
		}
		i += n
	}
	if length < quietParts || first == 0 || first+length < parts-quietParts {
		return Span{}, false
	}
	// It begins in the busy part before it, with the first gap of about the length of those that follow.
	k, _ := slices.BinarySearch(times, time.Duration(first-1)*width)
	var widest time.Duration
	for i := k; i+1 < len(times) && times[i] < time.Duration(first+1)*width; i++ {
		widest = max(widest, times[i+1]-times[i])
	}
	for k+1 < len(times) && times[k+1]-times[k] < widest/2 {
		k++
	}
	ended, _ := slices.BinarySearch(times, time.Duration(first+length)*width)
	still = Span{From: times[k], To: times[min(ended, len(times)-1)]}
	return still, k >= len(times)/2 && still.Length() > leastSilence
}

// blockedIn returns the threads that are blocked almost throughout a time, the last ones to block first.
func (t *Timeline) blockedIn(still Span) []Silence {
	all := []Silence{}
	for i := range t.Threads {
		if !t.Threads[i].works() {
			continue
		}
		var blocked time.Duration
		since := still.To
		for _, s := range t.Threads[i].during(still.From, still.To) {
			if s.State == Blocked || s.State == Alive {
				blocked += min(s.To, still.To) - max(s.From, still.From)
				since = min(since, s.From)
			}
		}
		if since <= still.From && blocked >= still.Length()*9/10 {
			all = append(all, Silence{Thread: i, Label: t.Threads[i].Label(), Since: since, For: still.To - since})
		}
	}
	return sorted(all)
}

// works reports whether a thread is one of the program: those of the VM, of compilers and collectors are still when there is no
// work.
func (t *Thread) works() bool {
	return t.Role == schedule.RoleMutator || t.Role == schedule.RoleUnspecified
}

func sorted(all []Silence) []Silence {
	slices.SortStableFunc(all, func(a, b Silence) int { return cmp.Compare(b.Since, a.Since) })
	return all
}

// timesOf returns the times of all decisions and of the beginnings and ends of all runs, in order.
func timesOf(l *schedule.Log) (times []time.Duration) {
	for _, part := range [][]schedule.Record{l.Decisions, l.Runs} {
		for _, r := range part {
			times = append(times, max(0, r.Elapsed))
			if r.Kind == schedule.RecordRun {
				times = append(times, max(0, endOf(r)))
			}
		}
	}
	slices.Sort(times)
	return times
}

// silent returns the threads that were blocked for longer than ever before, from a time after the earliest one on, until the end or
// until they ended: before that a program starts.
func (t *Timeline) silent(earliest time.Duration) []Silence {
	all := []Silence{}
	for i := range t.Threads {
		if !t.Threads[i].works() || t.Threads[i].idles() {
			continue
		}
		var longest Span
		var second time.Duration
		after := 0
		for _, s := range t.Threads[i].Spans {
			switch {
			case s.State == Running || s.State == KeptAway && !t.Runs:
				after++
			case s.State != Blocked && s.State != Alive:
			case s.Length() > longest.Length():
				second, longest, after = longest.Length(), s, 0
			default:
				second = max(second, s.Length())
			}
		}
		long := max(silentTimes*second, t.End/silentPart, leastSilence)
		if after <= silentRuns && longest.From >= earliest && longest.Length() > long {
			all = append(all, Silence{Thread: i, Label: t.Threads[i].Label(), Since: longest.From, For: longest.Length()})
		}
	}
	return sorted(all)
}

// idles reports whether a thread is one that each JVM has for itself and that mostly waits.
func (t *Thread) idles() bool {
	return slices.Contains([]string{"Reference Handl", "Finalizer", "Common-Cleaner"}, t.Comm)
}

// ended returns the last thread that ended before the program did, if only one other thread worked from then on: a program that
// fails by its own check has the failure before that, and then takes many records to say so and to end.
func (t *Timeline) ended() (thread int, found bool) {
	over := t.End // when the program ended: its first thread did, or one of a JVM's own, which live as long as the JVM
	for i := range t.Threads {
		if own := &t.Threads[i]; own.Exited && (i == 0 || own.Role == schedule.RoleVM || own.idles()) {
			over = min(over, own.end())
		}
	}
	for i := range t.Threads {
		own := &t.Threads[i]
		if own.works() && own.Exited && own.end() < over && (!found || own.end() > t.Threads[thread].end()) {
			thread, found = i, true
		}
	}
	if !found {
		return 0, false
	}
	working := 0
	for i := range t.Threads {
		own := &t.Threads[i]
		ran := func(s Span) bool { return s.State == Running }
		if own.works() && !own.idles() && slices.ContainsFunc(own.during(t.Threads[thread].end(), over), ran) {
			working++
		}
	}
	return thread, working <= 1
}

// end is when the thread's last span ended.
func (t *Thread) end() time.Duration {
	if len(t.Spans) == 0 {
		return 0
	}
	return t.Spans[len(t.Spans)-1].To
}
