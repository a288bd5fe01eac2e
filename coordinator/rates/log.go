package rates

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"time"
)

// Log has the trials of a store that count one by one: by combination, and with what they showed. Many readers share it, and nobody
// changes it.
type Log struct {
	// Tallies of the combinations that trials had, ordered by Compare.
	Tallies []Tally
	// Hits are the trials that showed findings, lowest id first.
	Hits []Hit
	// Marks say when trials ended; those of Filter are of all trials.
	Marks []Mark
}

// Mark is the first trial that ended in a minute. A trial that ended before an earlier one, as after a clock was set back, counts
// for the minute of that one.
type Mark struct {
	Trial  uint64
	Minute time.Time
}

// Before returns the greatest id that a trial which ended before a time may have.
func (l *Log) Before(t time.Time) uint64 {
	i := sort.Search(len(l.Marks), func(i int) bool { return !l.Marks[i].Minute.Before(t) })
	if i == len(l.Marks) {
		return math.MaxUint64
	}
	return l.Marks[i].Trial - 1
}

// Minute returns the minute in which a trial ended.
func (l *Log) Minute(trial uint64) time.Time {
	i := sort.Search(len(l.Marks), func(i int) bool { return l.Marks[i].Trial > trial })
	return l.Marks[i-1].Minute
}

// Tally has the ids of the trials of a combination, in ascending order.
type Tally struct {
	Combination
	Trials []uint32
}

// N returns the number of trials.
func (t Tally) N() uint64 { return uint64(len(t.Trials)) }

// Until returns the number of trials with ids up to last.
func (t Tally) Until(last uint64) uint64 {
	return uint64(sort.Search(len(t.Trials), func(i int) bool { return uint64(t.Trials[i]) > last }))
}

// Hit is a trial that showed findings.
type Hit struct {
	Trial uint64
	Ended time.Time
	// Tally is the index of the trial's combination in Log.Tallies.
	Tally int
	// Findings are their ids, in ascending order; at least one.
	Findings []string
}

// Result is a trial that counts.
type Result struct {
	Trial uint64
	Ended time.Time
	Combination
	// Findings that it showed, in any order.
	Findings []string
}

// Logger makes logs of results; its zero value has none. A log that it has made stays as it is when results are added.
type Logger struct {
	// tallies in the order in which their combinations came.
	tallies []Tally
	index   map[Combination]int
	hits    []Hit
	marks   []Mark
	last    uint64
}

// Add adds a result, whose id is greater than those of all before.
func (l *Logger) Add(r Result) error {
	if r.Trial <= l.last || r.Trial > math.MaxUint32 {
		return fmt.Errorf("count trial %d after trial %d: expected a greater id, below 2³²", r.Trial, l.last)
	}
	l.last = r.Trial
	i, known := l.index[r.Combination]
	if !known {
		if l.index == nil {
			l.index = map[Combination]int{}
		}
		i = len(l.tallies)
		l.index[r.Combination] = i
		l.tallies = append(l.tallies, Tally{Combination: r.Combination})
	}
	l.tallies[i].Trials = append(l.tallies[i].Trials, uint32(r.Trial))
	minute := r.Ended.UTC().Truncate(time.Minute)
	if n := len(l.marks); n == 0 || l.marks[n-1].Minute.Before(minute) {
		l.marks = append(l.marks, Mark{r.Trial, minute})
	}
	if len(r.Findings) > 0 {
		findings := slices.Compact(slices.Sorted(slices.Values(r.Findings)))
		l.hits = append(l.hits, Hit{Trial: r.Trial, Ended: r.Ended, Tally: i, Findings: findings})
	}
	return nil
}

// Log returns what was added so far.
func (l *Logger) Log() *Log {
	order := make([]int, len(l.tallies))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return Compare(l.tallies[a].Combination, l.tallies[b].Combination) })
	out := &Log{Tallies: make([]Tally, len(order)), Hits: slices.Clone(l.hits), Marks: slices.Clip(l.marks)}
	at := make([]int, len(order))
	for i, from := range order {
		out.Tallies[i], at[from] = l.tallies[from], i
	}
	for i := range out.Hits {
		out.Hits[i].Tally = at[out.Hits[i].Tally]
	}
	return out
}

// Filter returns a log of those combinations that tally keeps, and of the hits among their trials that hit keeps. Both return what
// is kept, which they may have changed a copy of.
func (l *Log) Filter(tally func(Combination) (Combination, bool), hit func(findings []string) ([]string, bool)) *Log {
	out := &Log{Marks: l.Marks}
	at := make([]int, len(l.Tallies))
	for i, t := range l.Tallies {
		at[i] = -1
		if c, keep := tally(t.Combination); keep {
			at[i] = len(out.Tallies)
			out.Tallies = append(out.Tallies, Tally{Combination: c, Trials: t.Trials})
		}
	}
	for _, h := range l.Hits {
		if h.Tally = at[h.Tally]; h.Tally < 0 {
			continue
		}
		var keep bool
		if h.Findings, keep = hit(h.Findings); keep {
			out.Hits = append(out.Hits, h)
		}
	}
	return out
}
