package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Reason is why a thread that could have run did not.
type Reason string

// Reasons. The last one is no perturbation.
const (
	Delayed   Reason = "delayed"
	Starved   Reason = "starved"
	Stopped   Reason = "stopped at its place"
	Preempted Reason = "its short slice ended"
	Ranked    Reason = "ranked behind others"
	Overtaken Reason = "overtaken"
	Crowded   Reason = "others had the CPU"
)

// Absence is a time in which a thread could have run and did not.
type Absence struct {
	// Thread is its index in the timeline; Label is its name.
	Thread int           `json:"-"`
	Label  string        `json:"thread"`
	From   time.Duration `json:"from_ns"`
	To     time.Duration `json:"to_ns"`
	Reason Reason        `json:"reason"`
	// Decision is the index of the thread's decision; that of an overtaken thread is the one before.
	Decision uint32 `json:"decision"`
	// Place is the instruction before which the thread lost its CPU, 0 if it was blocked; Rare is that place if threads were hardly
	// ever stopped there before, as function and offset if the program has symbols.
	Place uint64 `json:"place,omitempty"`
	Rare  string `json:"rare_place,omitempty"`
	// Meanwhile are the threads that ran, those that ran longest first.
	Meanwhile []Run `json:"meanwhile"`
}

// Run is that a thread ran so many times while another was away.
type Run struct {
	Label string        `json:"thread"`
	Times int           `json:"times"`
	Ran   time.Duration `json:"ran_ns"`
}

// Length of the absence.
func (a Absence) Length() time.Duration { return a.To - a.From }

// Sentence says it in words, without the time.
func (a Absence) Sentence() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s away for %s: %s", a.Label, Short(a.Length()), a.Reason)
	if a.Rare != "" {
		fmt.Fprintf(&b, ", before %s, where threads rarely are", a.Rare)
	}
	const most = 3
	for i, r := range a.Meanwhile {
		switch {
		case i == most:
			fmt.Fprintf(&b, " and %d more", len(a.Meanwhile)-most)
		case i > most:
		default:
			fmt.Fprintf(&b, "%s%s %s", map[bool]string{true: "; meanwhile ran ", false: ", "}[i == 0], r.Label, times(r.Times))
		}
	}
	return b.String()
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// Short formats a duration with three digits.
func Short(d time.Duration) string {
	unit := time.Duration(1)
	for d.Abs() >= 1000*unit && unit < time.Second {
		unit *= 10
	}
	return d.Round(unit).String()
}

// ranIn returns which other threads ran in a time.
func (t *Timeline) ranIn(thread int, from, to time.Duration) (runs []Run) {
	for i := range t.Threads {
		if i == thread {
			continue
		}
		run := Run{Label: t.Threads[i].Label()}
		for _, s := range t.Threads[i].during(from, to) {
			if s.State == Running {
				run.Times++
				run.Ran += min(s.To, to) - max(s.From, from)
			}
		}
		if run.Times > 0 {
			runs = append(runs, run)
		}
	}
	slices.SortStableFunc(runs, func(a, b Run) int { return cmp.Compare(b.Ran, a.Ran) })
	return runs
}

// during returns the spans that reach into a time.
func (t *Thread) during(from, to time.Duration) []Span {
	first, _ := slices.BinarySearchFunc(t.Spans, from, func(s Span, at time.Duration) int {
		if s.To <= at {
			return -1
		}
		return 1
	})
	n := first
	for n < len(t.Spans) && t.Spans[n].From < to {
		n++
	}
	return t.Spans[first:n]
}
