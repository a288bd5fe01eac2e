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
	// By default the window has this many records before the moment; at most so many absences that mattered, silent threads and
	// longest absences are listed.
	windowRecords, mostListed, mostLongest = 160, 8, 5
	// A standstill lasts this long at least, and so many times as long as any other time in which nothing ran.
	leastStandstill, standsOut = 50 * time.Millisecond, 5
	// A thread fell silent if it was blocked for so many times as long as ever before, and for this part of the log.
	silentTimes, silentPart = 4, 10
	leastRuns               = 4 // of a thread of which silence can be told
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
	// Standstill is how long no thread ran from the moment on; 0 if there was no standstill.
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
		Header: l.Header, End: t.End, Threads: len(t.Threads), Decisions: len(l.Decisions), Lost: l.Lost, Cut: l.Cut, CutAt: l.CutAt,
		Runs: t.Runs, Moment: t.End, timeline: t,
		Silent: []Silence{}, Mattered: []Absence{}, Longest: []Absence{}, Waits: []Wait{},
	}
	if still, found := t.standstill(); found {
		x.Moment, x.Standstill = still.From, still.Length()
		x.Silent = t.blockedIn(still)
	} else if x.Silent = t.silent(); len(x.Silent) > 0 {
		x.Moment = x.Silent[0].Since
	}
	x.window(l, o.Last)
	x.choose(schedule.StopReports(schedule.Choose(stops, schedule.MaxPlaces), t.names, l.Header))
	x.waits()
	return x, nil
}

// standstill returns the longest time in which no thread ran, if it stands out.
func (t *Timeline) standstill() (longest Span, found bool) {
	if !t.Runs {
		return Span{}, false
	}
	var runs []Span
	for i := range t.Threads {
		for _, s := range t.Threads[i].Spans {
			if s.State == Running {
				runs = append(runs, s)
			}
		}
	}
	slices.SortFunc(runs, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	var until, second time.Duration
	for _, s := range append(runs, Span{From: t.End, To: t.End}) {
		if idle := (Span{From: until, To: s.From}); idle.Length() > longest.Length() {
			second, longest = longest.Length(), idle
		} else {
			second = max(second, idle.Length())
		}
		until = max(until, s.To)
	}
	return longest, longest.Length() >= max(leastStandstill, standsOut*second)
}

// blockedIn returns the threads that are blocked almost throughout a time, the last ones to block first: whoever ends the time is
// not blocked at its end.
func (t *Timeline) blockedIn(still Span) []Silence {
	all := []Silence{}
	for i := range t.Threads {
		for _, s := range t.Threads[i].during(still.From, still.To) {
			if s.State == Blocked && s.From <= still.From && s.To-still.From >= still.Length()*9/10 {
				all = append(all, Silence{Thread: i, Label: t.Threads[i].Label(), Since: s.From, For: s.Length()})
			}
		}
	}
	return sorted(all)
}

func sorted(all []Silence) []Silence {
	slices.SortStableFunc(all, func(a, b Silence) int { return cmp.Compare(b.Since, a.Since) })
	return all
}

// silent returns the threads that worked and then were blocked for longer than ever before, until the end or until they ended.
func (t *Timeline) silent() []Silence {
	all := []Silence{}
	for i := range t.Threads {
		var longest Span
		var second time.Duration
		runs, after := 0, 0
		for _, s := range t.Threads[i].Spans {
			switch {
			case s.State == Running || s.State == KeptAway && !t.Runs:
				runs++
				after++
			case s.State != Blocked && s.State != Alive:
			case s.Length() > longest.Length():
				second, longest, after = longest.Length(), s, 0
			default:
				second = max(second, s.Length())
			}
		}
		if runs >= leastRuns+after && after <= 2 && longest.Length() > silentTimes*second && longest.Length() > t.End/silentPart {
			all = append(all, Silence{Thread: i, Label: t.Threads[i].Label(), Since: longest.From, For: longest.Length()})
		}
	}
	return sorted(all)
}

// window chooses the window: last before the moment, or as much as windowRecords records take; and the standstill and an eighth
// of it after.
func (x *Explanation) window(l *schedule.Log, last time.Duration) {
	x.From = max(0, x.Moment-last)
	if last == 0 {
		var times []time.Duration
		for _, part := range [][]schedule.Record{l.Decisions, l.Runs} {
			for _, r := range part {
				if r.Elapsed <= x.Moment {
					times = append(times, r.Elapsed)
				}
			}
		}
		slices.Sort(times)
		x.From = 0
		if n := len(times) - windowRecords; n > 0 {
			x.From = times[n]
		}
	}
	x.To = min(x.End, x.Moment+x.Standstill+max((x.Moment-x.From)/8, time.Microsecond))
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
	weight := func(a Absence) int { // rare places first, then the threads that are blocked at the end
		switch {
		case a.Rare != "":
			return 0
		case silent[a.Thread]:
			return 1
		}
		return 2
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
