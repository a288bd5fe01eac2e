package bpf

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"
)

// ReplayReport says how far a run followed the log.
type ReplayReport struct {
	// Recorded decisions in the log, and how many of them were taken again.
	Recorded uint64 `json:"recorded"`
	Replayed uint64 `json:"replayed"`
	// Departed counts decisions for which the log had nothing or something else; they came from the seed.
	Departed uint64 `json:"departed"`
	// First departure in time, if there was one.
	First *Departure `json:"first,omitempty"`
}

// Departure is a point where a run left the log.
type Departure struct {
	// Thread by its path of creation and its name.
	Thread string `json:"thread"`
	Comm   string `json:"comm"`
	// Decision of that thread, from 0, and when in the run.
	Decision uint32        `json:"decision"`
	Elapsed  time.Duration `json:"elapsed_ns"`
	// Why in words.
	Why string `json:"why"`
}

func (s *Scheduler) replayReport(r *Report, replayed uint64) *ReplayReport {
	report := &ReplayReport{Recorded: uint64(len(s.options.Replay.Decisions)), Replayed: replayed, Departed: r.Decisions - replayed}
	if len(s.departures) > 0 {
		first := slices.MinFunc(s.departures, func(a, b Record) int { return cmp.Compare(a.Elapsed, b.Elapsed) })
		report.First = s.departure(first)
	}
	return report
}

func (s *Scheduler) departure(r Record) *Departure {
	d := &Departure{Thread: s.names.name(r.Path), Comm: printable(r.Comm), Decision: r.Counter, Elapsed: r.Elapsed}
	i := slices.IndexFunc(s.options.Replay.Decisions, func(x Record) bool { return x.Path == r.Path && x.Counter == r.Counter })
	recorded := s.known[r.Path]
	switch {
	case i >= 0:
		d.Why = fmt.Sprintf("the log has a decision at its %v here, the thread was at its %v", s.options.Replay.Decisions[i].Event, r.Event)
	case recorded == 0:
		d.Why = "the log knows no such thread"
	case int(r.Counter) >= recorded && s.options.Replay.Lost == 0:
		d.Why = fmt.Sprintf("the log's %d decisions of this thread were all taken", recorded)
	default:
		d.Why = "this decision is missing in the log"
	}
	return d
}

func (r *ReplayReport) write(w io.Writer) {
	fmt.Fprintf(w, "replayed: %d of %d recorded decisions; %d decisions departed from the log\n", r.Replayed, r.Recorded, r.Departed)
	if r.First != nil {
		fmt.Fprintf(w, "first departure: thread %s (%s), decision %d, after %v: %s\n", r.First.Thread, r.First.Comm, r.First.Decision, r.First.Elapsed, r.First.Why)
	}
}
