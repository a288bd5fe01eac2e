package explain

import (
	"cmp"
	"slices"
	"time"

	"misstep/schedule"
)

// State is what a thread does in a span of time.
type State int

// States. Alive is between two decisions of a log without runs: the thread runs or is blocked.
const (
	StateUnspecified State = iota
	Running
	KeptAway
	Waiting
	Blocked
	Alive
)

var stateNames = []string{"unspecified", "running", "kept away", "waiting for a CPU", "blocked", "running or blocked"}

func (s State) String() string { return stateNames[s] }

// Span is a time in which a thread does not change its state.
type Span struct {
	State    State
	From, To time.Duration
}

// Length is the span's.
func (s Span) Length() time.Duration { return s.To - s.From }

// Thread is a thread of a log.
type Thread struct {
	// Name is the path of creation as ordinals, Comm the name that the thread has in the kernel or, in the agent's logs, in Java.
	Name string
	Comm string
	TID  uint32
	Role schedule.Role
	// Spans are in the order of time and do not overlap.
	Spans []Span
	// Exited reports whether the log has the thread's end.
	Exited   bool
	absences []Absence
}

// Label is the thread's name for display.
func (t *Thread) Label() string { return schedule.Printable(t.Comm) + " " + t.Name }

// Wake is that a thread, by its index, ended the blocking of another one.
type Wake struct {
	Waker, Woken int
	At           time.Duration
	Blocked      time.Duration
}

// Timeline is what each thread of a log did when.
type Timeline struct {
	Threads []Thread
	// Wakes are in the order of time; a log without runs has none.
	Wakes []Wake
	// End is the time of the log's last record.
	End time.Duration
	// Runs reports whether the log says when threads had a CPU.
	Runs  bool
	names schedule.ThreadNames
}

// timelineOf orders the records of a log by thread and time.
func timelineOf(l *schedule.Log) *Timeline {
	t := &Timeline{Runs: len(l.Runs) > 0, names: schedule.ThreadNames{}}
	for _, r := range l.Threads {
		t.names.Add(r)
	}
	at := map[uint64]int{}
	var records [][]schedule.Record
	index := func(r schedule.Record) int {
		i, known := at[r.Path]
		if !known {
			i = len(t.Threads)
			at[r.Path] = i
			t.Threads = append(t.Threads, Thread{Name: t.names.Name(r.Path)})
			records = append(records, nil)
		}
		t.Threads[i].TID = r.TID
		return i
	}
	for _, r := range l.Threads {
		i := index(r)
		t.Threads[i].Comm, t.Threads[i].Role = r.Comm, r.Role
	}
	for _, part := range [][]schedule.Record{l.Decisions, l.Runs} {
		for _, r := range part {
			i := index(r)
			records[i] = append(records[i], r)
			t.End = max(t.End, r.Elapsed, endOf(r))
		}
	}
	for i, own := range records {
		slices.SortStableFunc(own, func(a, b schedule.Record) int {
			// A decision is before the run that follows.
			return cmp.Or(cmp.Compare(a.Elapsed, b.Elapsed), cmp.Compare(a.Kind, b.Kind))
		})
		b := builder{thread: &t.Threads[i], runs: t.Runs}
		for _, r := range own {
			b.thread.Comm, b.thread.Role = r.Comm, r.Role // a JVM names its threads after their start
			if r.Kind == schedule.RecordDecision {
				b.decide(r)
				continue
			}
			if waker, known := at[r.Rank]; known && r.Rank != 0 && b.pending != nil {
				t.Wakes = append(t.Wakes, Wake{Waker: waker, Woken: i, At: b.pending.Elapsed, Blocked: b.blocked()})
			}
			b.run(r)
		}
		b.close(t.End)
	}
	slices.SortStableFunc(t.Wakes, func(a, b Wake) int { return cmp.Compare(a.At, b.At) })
	return t
}

// endOf is when a run ended.
func endOf(r schedule.Record) time.Duration {
	if r.Kind != schedule.RecordRun {
		return 0
	}
	return r.Elapsed + time.Duration(min(r.Delay, uint64(century)))
}

// century bounds what a damaged log claims.
const century = 100 * 365 * 24 * time.Hour

// builder makes the spans of one thread of its records in the order of time.
type builder struct {
	thread  *Thread
	runs    bool
	at      time.Duration // up to which there are spans
	ending  schedule.Ending
	short   bool             // the slice of the last run was a short one
	pending *schedule.Record // the decision that no run has followed yet
}

func (b *builder) span(state State, to time.Duration) {
	if to > b.at {
		b.thread.Spans = append(b.thread.Spans, Span{State: state, From: b.at, To: to})
		b.at = to
	}
}

// blocked returns how long the thread was blocked before the pending decision.
func (b *builder) blocked() time.Duration {
	if n := len(b.thread.Spans); n > 0 && b.thread.Spans[n-1].State == Blocked {
		return b.thread.Spans[n-1].Length()
	}
	return 0
}

func (b *builder) decide(r schedule.Record) {
	b.close(r.Elapsed)
	b.at = max(b.at, r.Elapsed)
	b.pending = &r
}

func (b *builder) run(r schedule.Record) {
	b.close(r.Elapsed)
	b.at = max(b.at, r.Elapsed)
	b.span(Running, endOf(r))
	b.ending = schedule.Ending(r.Event)
	b.thread.Exited = b.ending == schedule.EndingExited
}

// close ends what has lasted until a time.
func (b *builder) close(to time.Duration) {
	from := b.at
	if d := b.pending; d != nil {
		b.pending = nil
		b.span(KeptAway, min(to, from+time.Duration(d.Delay)))
		if b.runs {
			b.span(Waiting, to)
		}
		b.absent(Absence{From: from, To: b.at, Reason: reason(*d, b.short), Decision: d.Counter, Place: d.Place})
		b.span(Alive, to)
		b.short = d.Marks&schedule.MarkShort != 0
		return
	}
	switch b.ending {
	case schedule.EndingBlocked:
		b.span(Blocked, to)
	case schedule.EndingSlice, schedule.EndingOvertaken:
		b.span(Waiting, to)
		if b.ending == schedule.EndingOvertaken {
			b.absent(Absence{From: from, To: b.at, Reason: Overtaken})
		}
	}
}

func (b *builder) absent(a Absence) {
	if a.To > a.From {
		b.thread.absences = append(b.thread.absences, a)
	}
}

// reason tells why a decision kept a thread from running; short: it came at the end of a short slice.
func reason(d schedule.Record, short bool) Reason {
	switch {
	case d.Marks&schedule.MarkPlaced != 0:
		return Stopped
	case d.Marks&schedule.MarkStarved != 0:
		return Starved
	case d.Delay > 0:
		return Delayed
	case d.Event == schedule.EventExpiry && short:
		return Preempted
	case d.Rank > 0:
		return Ranked
	}
	return Crowded
}
