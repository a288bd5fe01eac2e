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
	// Moment is the time of interest: when everything stood still, else when the last thread fell silent, else when the last thread
	// ended before the program did, else the end.
	Moment time.Duration `json:"moment_ns"`
	// Standstill is how long hardly any thread ran from the moment on; 0 if there was no standstill.
	Standstill time.Duration `json:"standstill_ns"`
	// Ended is the thread whose end is the moment.
	Ended string `json:"ended,omitempty"`
	// Round are the threads that its creator created last, those that ran beside each other.
	Round []string `json:"round,omitempty"`
	// Silent are the threads that were blocked from then on, the last ones to block first.
	Silent []Silence `json:"silent"`
	// From and To limit the window around the moment, which Mattered, Waits and the picture show.
	From time.Duration `json:"from_ns"`
	To   time.Duration `json:"to_ns"`
	// Mattered are the last and the longest perturbed absences before the moment in which others ran, in the order of time; those
	// in which one of the last round ran while another one was away before all others.
	Mattered []Absence `json:"mattered"`
	// Longest are the longest absences of the whole log.
	Longest []Absence `json:"longest"`
	// Waits say who waited for whom.
	Waits []Wait `json:"waits"`

	timeline *Timeline
	round    []int
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
	x.find(times)
	x.window(times, o.Last)
	x.choose(schedule.StopReports(schedule.Choose(stops, schedule.MaxPlaces), t.names, l.Header))
	x.waits()
	return x, nil
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
		x.From = max(x.From, x.together())
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
	slices.SortStableFunc(all, longest)
	for _, a := range all[:min(mostLongest, len(all))] {
		x.Longest = append(x.Longest, x.meanwhile(a))
	}
	// Threads of the last round that took turns first, then rare places, then the threads that are blocked or away at the moment,
	// the VM's last.
	weight := func(a Absence) int {
		works := x.timeline.Threads[a.Thread].works()
		switch {
		case x.timeline.crossed(a, x.round):
			return -1
		case a.Rare != "":
			return 0
		case silent[a.Thread], works && a.To >= x.Moment:
			return 1
		case works:
			return 2
		}
		return 3
	}
	all = slices.DeleteFunc(all, func(a Absence) bool { return a.Reason == Crowded || a.To <= x.From || a.From >= x.Moment })
	turns := slices.ContainsFunc(all, func(a Absence) bool { return weight(a) < 0 })
	for _, order := range []func(a, b Absence) int{latest, longest} { // half of the list each
		slices.SortStableFunc(all, func(a, b Absence) int { return cmp.Or(cmp.Compare(weight(a), weight(b)), order(a, b)) })
		n := 0
		all = slices.DeleteFunc(all, func(a Absence) bool {
			if n == mostListed/2 || turns && weight(a) >= 0 && len(x.Mattered) >= mostListed/2 {
				return false
			}
			if a = x.meanwhile(a); len(a.Meanwhile) > 0 || !x.Runs {
				x.Mattered = append(x.Mattered, a)
				n++
			}
			return true
		})
	}
	slices.SortStableFunc(x.Mattered, func(a, b Absence) int { return cmp.Compare(a.From, b.From) })
}

func latest(a, b Absence) int { return cmp.Compare(b.From, a.From) }

func longest(a, b Absence) int { return cmp.Compare(b.Length(), a.Length()) }

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
