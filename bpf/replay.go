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
	// Recorded decisions in the log, and how many were taken from it; a round's are taken again and again.
	Recorded uint64 `json:"recorded"`
	Replayed uint64 `json:"replayed"`
	// Departed counts decisions for which the log had nothing or something else; they came from the seed.
	Departed uint64 `json:"departed"`
	// Round is the first of the threads whose decisions every round takes, if that was asked for.
	Round string `json:"round,omitempty"`
	// Stops are the places at which threads were stopped by breakpoints, Stopped how often, and Passed how often a thread went on there.
	Stops   []StopReport `json:"stops,omitempty"`
	Stopped uint64       `json:"stopped"`
	Passed  uint64       `json:"passed"`
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

// round is the one that a replay repeats: the threads from first on that the thread of the path parent created. No threads: there is none.
type round struct {
	parent  uint64
	first   uint32
	threads uint32
}

// round gives the last round of so many threads. The thread that created most is the one that goes round.
func (l *Log) round(threads int) (round, error) {
	if threads == 0 {
		return round{}, nil
	}
	var parent uint64
	var most uint32
	for _, t := range l.Threads {
		if t.Delay != 0 && t.Counter >= most { // children are counted from 0
			parent, most = t.Delay, t.Counter+1
		}
	}
	if threads < 0 || uint64(threads) > uint64(most) {
		return round{}, fmt.Errorf("%w: a round of %d threads: expected the number of threads that the program creates in each round, from 1 to the %d that one thread has created in the log",
			ErrInvalid, threads, most)
	}
	return round{parent, most - uint32(threads), uint32(threads)}, nil
}

// recorded is the path in the log of the thread whose decisions the one with this path takes, as op_init_task of sched.bpf.c has it.
func (r round) recorded(names threadNames, path uint64) uint64 {
	var ordinals []uint64
	for t, known := names[path]; known && t.Delay != 0 && len(ordinals) < 64; t, known = names[path] {
		ordinals = append(ordinals, uint64(t.Counter))
		path = t.Delay
	}
	for _, place := range slices.Backward(ordinals) {
		if r.threads != 0 && path == r.parent {
			place = uint64(r.first) + (place+uint64(r.threads-r.first%r.threads))%uint64(r.threads)
		}
		path = child(path, place)
	}
	return path
}

func (s *Scheduler) replayReport(r *Report, stats []uint64) *ReplayReport {
	report := &ReplayReport{
		Recorded: uint64(len(s.options.Replay.Decisions)), Replayed: stats[schedMisstepStatMISSTEP_STAT_REPLAYED],
		Departed: stats[schedMisstepStatMISSTEP_STAT_DEPARTED],
		Stopped:  stats[schedMisstepStatMISSTEP_STAT_PLACED], Passed: stats[schedMisstepStatMISSTEP_STAT_PASSED],
		Stops: stopReports(s.options.Stops, s.names, s.options.Replay.Header),
	}
	for _, b := range s.breakpoints {
		for i := range report.Stops {
			report.Stops[i].Left = report.Stops[i].Left || b.off && b.place == report.Stops[i].Address
		}
	}
	if s.round.threads > 0 {
		report.Round = s.names.name(child(s.round.parent, uint64(s.round.first)))
	}
	if len(s.departures) > 0 {
		first := slices.MinFunc(s.departures, func(a, b Record) int { return cmp.Compare(a.Elapsed, b.Elapsed) })
		report.First = s.departure(first)
	}
	return report
}

func (s *Scheduler) departure(r Record) *Departure {
	d := &Departure{Thread: s.names.name(r.Path), Comm: printable(r.Comm), Decision: r.Counter, Elapsed: r.Elapsed}
	path := s.round.recorded(s.names, r.Path)
	i := slices.IndexFunc(s.options.Replay.Decisions, func(x Record) bool { return x.Path == path && x.Counter == r.Counter })
	recorded := s.known[path]
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
	fmt.Fprintf(w, "replayed: %d decisions, of %d recorded ones; %d decisions departed from the log\n", r.Replayed, r.Recorded, r.Departed)
	if r.Round != "" {
		fmt.Fprintf(w, "every round took the decisions of the one that began with thread %s\n", r.Round)
	}
	if len(r.Stops) > 0 {
		fmt.Fprintf(w, "threads were stopped %d times at these places of the log, and went on there %d times:\n", r.Stopped, r.Passed)
		writeStops(w, r.Stops)
	}
	if r.First != nil {
		fmt.Fprintf(w, "first departure: thread %s (%s), decision %d, after %v: %s\n", r.First.Thread, r.First.Comm, r.First.Decision, r.First.Elapsed, r.First.Why)
	}
}
