// Package explain derives from a log of decisions how its threads were interleaved before the end: who was kept away, who waited
// for whom, and which threads fell silent; as data, as a picture, and in the format of Perfetto.
package explain

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"misstep/schedule"
)

const (
	// By default the window has this many decisions, beginnings and ends of runs before the moment; at most so many absences that
	// mattered, silent threads and longest absences are listed.
	windowRecords, mostListed, mostLongest = 240, 8, 5
	// The log is looked at in so many equal parts. In a standstill, a tenth of all at least, each part has less than a twentieth of
	// the records of the busiest one.
	parts, quietParts, quietShare = 100, 10, 20
	// A thread fell silent if it was blocked for so many times as long as ever before and for this part of the log, and ran at most
	// so often afterwards, to end.
	silentTimes, silentPart, silentRuns = 4, 10, 4
	leastSilence                        = time.Millisecond // of a standstill, too
)

// ErrEmpty means that a log has nothing to explain.
var ErrEmpty = errors.New("the log has no decisions: no thread of the program reached one while it was recorded")

// Explanation of a log.
type Explanation struct {
	Header schedule.Header `json:"header"`
	// End is the time of the last record, since the first thread was created.
	End       time.Duration `json:"end_ns"`
	Threads   int           `json:"threads"`
	Decisions int           `json:"decisions"`
	Lost      uint64        `json:"lost"`
	// Cut reports whether the log's end is missing; CutAt is the offset at which it is.
	Cut   bool  `json:"cut"`
	CutAt int64 `json:"cut_at,omitempty"`
	// Runs reports whether the log has when threads ran and who woke them; logs of version 2 and those of the agent do not.
	Runs bool `json:"has_runs"`
	// Moment is the time of interest: when everything stood still, else when the last thread fell silent, else the end.
	Moment time.Duration `json:"moment_ns"`
	// Standstill is how long hardly any thread ran from the moment on; 0 if there was no standstill.
	Standstill time.Duration `json:"standstill_ns"`
	// Silent are the threads that were blocked from then on, the last ones to block first.
	Silent []Silence `json:"silent"`
	// From and To limit the window around the moment, which Mattered, Waits and the picture show.
	From time.Duration `json:"from_ns"`
	To   time.Duration `json:"to_ns"`
	// Mattered are the last perturbed absences before the moment in which others ran, in the order of time.
	Mattered []Absence `json:"mattered"`
	// Longest are the longest absences of the whole log.
	Longest []Absence `json:"longest"`
	// Waits say who waited for whom.
	Waits []Wait `json:"waits"`

	timeline *Timeline
}

// Silence is that a thread was blocked from a time on and did not come back, or only to end.
type Silence struct {
	Thread int           `json:"-"`
	Label  string        `json:"thread"`
	Since  time.Duration `json:"since_ns"`
	For    time.Duration `json:"for_ns"`
}

// Wait is that a thread was blocked until another one woke it.
type Wait struct {
	Woken   string        `json:"thread"`
	Waker   string        `json:"woken_by"`
	Times   int           `json:"times"`
	Longest time.Duration `json:"longest_ns"`
}

// Options of an explanation.
type Options struct {
	// Last is the length of the window before the moment, 0 for one that is as long as is clear.
	Last time.Duration
	// Round is the number of threads of each round of a program that repeats itself, 0 for none: the rare places are those of the
	// last round.
	Round int
}

// Explain explains a log. The error is ErrEmpty, or wraps schedule.ErrInvalid for a wrong round.
func Explain(l *schedule.Log, o Options) (*Explanation, error) {
	if len(l.Decisions)+len(l.Runs) == 0 {
		return nil, ErrEmpty
	}
	stops, err := l.Stops(o.Round)
	if err != nil {
		return nil, err
	}
	if !l.Header.FixedAddresses {
		stops = nil
	}
	t := timelineOf(l)
	x := &Explanation{
		Header: l.Header, End: t.End, Threads: len(t.Threads), Decisions: len(l.Decisions), Lost: l.Lost, Cut: l.Cut,
		CutAt: l.CutAt, Runs: t.Runs, Moment: t.End, timeline: t,
		Silent: []Silence{}, Mattered: []Absence{}, Longest: []Absence{}, Waits: []Wait{},
	}
	times := timesOf(l)
	if still, found := standstill(times); found {
		x.Silent = t.blockedIn(still)
		// A compiler may have worked on for a moment: what matters is when the last thread of the program blocked.
		if len(x.Silent) > 0 && x.Silent[0].Since >= still.From-t.End/parts {
			still.From = x.Silent[0].Since
		}
		x.Moment, x.Standstill = still.From, still.Length()
	} else if x.Silent = t.silent(times[len(times)/2]); len(x.Silent) > 0 {
		x.Moment = x.Silent[0].Since
	}
	x.window(times, o.Last)
	x.choose(schedule.StopReports(schedule.Choose(stops, schedule.MaxPlaces), t.names, l.Header))
	x.waits()
	return x, nil
}

// standstill returns the longest time in which hardly anything ran, if it begins in the later half of the records. A JVM is never
// quite still: its threads look now and then whether there is something to do.
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
	if length < quietParts || first == 0 {
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
		if !t.Threads[i].works() {
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

// window chooses the window: last before the moment, or as much as windowRecords records take, and an eighth of it after.
func (x *Explanation) window(times []time.Duration, last time.Duration) {
	x.From = max(0, x.Moment-last)
	if last == 0 {
		after, _ := slices.BinarySearch(times, x.Moment+1)
		x.From = 0
		if n := after - windowRecords; n > 0 {
			x.From = times[n]
		}
	}
	x.To = min(x.End, x.Moment+max((x.Moment-x.From)/8, time.Microsecond))
}

// choose lists absences.
func (x *Explanation) choose(places []schedule.StopReport) {
	rare := map[string]schedule.StopReport{}
	for _, p := range places {
		rare[p.Thread] = p
	}
	var all []Absence
	silent := map[int]bool{}
	for _, s := range x.Silent {
		silent[s.Thread] = true
	}
	for i := range x.timeline.Threads {
		thread := &x.timeline.Threads[i]
		for _, a := range thread.absences {
			a.Thread, a.Label = i, thread.Label()
			if p, found := rare[thread.Name]; found && p.Decision == a.Decision && p.Address == a.Place {
				a.Rare = p.Place
			}
			all = append(all, a)
		}
	}
	slices.SortStableFunc(all, func(a, b Absence) int { return cmp.Compare(b.Length(), a.Length()) })
	for _, a := range all[:min(mostLongest, len(all))] {
		x.Longest = append(x.Longest, x.meanwhile(a))
	}
	weight := func(a Absence) int { // rare places first, then the threads that are blocked at the end, the VM's last
		switch {
		case a.Rare != "":
			return 0
		case silent[a.Thread]:
			return 1
		case x.timeline.Threads[a.Thread].works():
			return 2
		}
		return 3
	}
	slices.SortStableFunc(all, func(a, b Absence) int {
		return cmp.Or(cmp.Compare(weight(a), weight(b)), cmp.Compare(b.From, a.From))
	})
	for _, a := range all {
		if len(x.Mattered) == mostListed {
			break
		}
		if a.Reason == Crowded || a.To <= x.From || a.From >= x.Moment {
			continue
		}
		if a = x.meanwhile(a); len(a.Meanwhile) > 0 || !x.Runs {
			x.Mattered = append(x.Mattered, a)
		}
	}
	slices.SortStableFunc(x.Mattered, func(a, b Absence) int { return cmp.Compare(a.From, b.From) })
}

func (x *Explanation) meanwhile(a Absence) Absence {
	a.Meanwhile = x.timeline.ranIn(a.Thread, a.From, a.To)
	return a
}

// waits counts who woke whom in the window.
func (x *Explanation) waits() {
	at := map[[2]int]int{}
	for _, w := range x.timeline.Wakes {
		if w.At < x.From || w.At > x.To || w.Blocked == 0 {
			continue
		}
		i, known := at[[2]int{w.Woken, w.Waker}]
		if !known {
			i = len(x.Waits)
			at[[2]int{w.Woken, w.Waker}] = i
			x.Waits = append(x.Waits, Wait{
				Woken: x.timeline.Threads[w.Woken].Label(), Waker: x.timeline.Threads[w.Waker].Label(),
			})
		}
		x.Waits[i].Times++
		x.Waits[i].Longest = max(x.Waits[i].Longest, w.Blocked)
	}
	slices.SortStableFunc(x.Waits, func(a, b Wait) int { return cmp.Compare(b.Longest, a.Longest) })
}
