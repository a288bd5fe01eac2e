package bpf

import (
	"cmp"
	"fmt"
	"slices"

	"misstep/schedule"
)

func (s *Scheduler) replayReport(r *schedule.Report, stats []uint64) *schedule.ReplayReport {
	report := &schedule.ReplayReport{
		Recorded: uint64(len(s.options.Replay.Decisions)), Replayed: stats[schedule.StatReplayed],
		Departed: stats[schedule.StatDeparted],
		Stopped:  stats[schedule.StatPlaced], Passed: stats[schedule.StatPassed],
		Stops: schedule.StopReports(s.options.Stops, s.names, s.options.Replay.Header),
	}
	for _, b := range s.breakpoints {
		for i := range report.Stops {
			report.Stops[i].Left = report.Stops[i].Left || b.disabled && b.place == report.Stops[i].Address
		}
	}
	if s.round.Threads > 0 {
		report.Round = s.names.Name(schedule.Child(s.round.Parent, uint64(s.round.First)))
	}
	if len(s.departures) > 0 {
		first := slices.MinFunc(s.departures, func(a, b schedule.Record) int { return cmp.Compare(a.Elapsed, b.Elapsed) })
		report.First = s.departure(first)
	}
	return report
}

func (s *Scheduler) departure(r schedule.Record) *schedule.Departure {
	d := &schedule.Departure{
		Thread: s.names.Name(r.Path), Comm: schedule.Printable(r.Comm), Decision: r.Counter, Elapsed: r.Elapsed,
	}
	path := s.round.Recorded(s.names, r.Path)
	i := slices.IndexFunc(s.options.Replay.Decisions, func(x schedule.Record) bool {
		return x.Path == path && x.Counter == r.Counter
	})
	recorded := s.known[path]
	switch {
	case i >= 0:
		d.Why = fmt.Sprintf("the log has a decision at its %v here, the thread was at its %v", s.options.Replay.Decisions[i].Event,
			r.Event)
	case recorded == 0:
		d.Why = "the log has no such thread"
	case int(r.Counter) >= recorded && s.options.Replay.Lost == 0:
		d.Why = fmt.Sprintf("the log's %d decisions of this thread were all taken", recorded)
	default:
		d.Why = "the log lacks this decision"
	}
	return d
}
