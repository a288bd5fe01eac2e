package bpf

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"misstep/schedule"
)

// The kernel's enum scx_exit_kind as of Linux 7.2.
const (
	exitUnregistered = 64
	exitByBPF        = 65
	exitByKernel     = 66
	exitBySysRq      = 67
	exitError        = 1024
	exitErrorBPF     = 1025
	exitErrorStall   = 1026
)

func ejection(e schedMisstepExit) *schedule.Ejection {
	kinds := map[uint32]string{
		exitByBPF: "bpf", exitByKernel: "kernel", exitBySysRq: "sysrq", exitError: "error", exitErrorBPF: "error",
		exitErrorStall: "watchdog",
	}
	if e.Kind == 0 || e.Kind == exitUnregistered {
		return nil
	}
	kind, known := kinds[e.Kind]
	if !known {
		kind = fmt.Sprintf("kind %d", e.Kind)
	}
	return &schedule.Ejection{
		Kind: kind, Code: e.Code, Reason: chars(e.Reason[:]), Message: chars(e.Message[:]), Dump: chars(e.Dump[:]),
	}
}

func chars(c []int8) string {
	b := make([]byte, len(c))
	for i, x := range c {
		b[i] = byte(x)
	}
	return unix.ByteSliceToString(b)
}

func (s *Scheduler) report() (*schedule.Report, error) {
	r := &schedule.Report{Perturbation: s.options.Perturbation}
	var stats [schedule.Stats]uint64
	for i := range stats {
		n, err := perCPU(s, i)
		if err != nil {
			return r, err
		}
		stats[i] = n
	}
	r.Count(stats[:])
	for i, h := range []*schedule.Histogram{&r.Chosen, &r.Late, &r.Wait} {
		*h = make(schedule.Histogram, schedule.Buckets)
		for j := range schedule.Buckets {
			var values []uint64
			if err := s.objects.Histograms.Lookup(uint32(i*schedule.Buckets+j), &values); err != nil {
				return r, fmt.Errorf("read histograms: %w", err)
			}
			for _, v := range values {
				(*h)[j] += v
			}
		}
	}
	if err := s.threads(r); err != nil {
		return r, err
	}
	var end schedMisstepExit
	if err := s.objects.Ended.Get(&end); err != nil {
		return r, fmt.Errorf("read the scheduler's exit reason: %w", err)
	}
	r.Ejection = ejection(end)
	if s.options.Replay != nil {
		r.Replay = s.replayReport(r, stats[:])
	}
	return r, nil
}

func perCPU(s *Scheduler, i int) (uint64, error) {
	var values []uint64
	if err := s.objects.Stats.Lookup(uint32(i), &values); err != nil {
		return 0, fmt.Errorf("read counters: %w", err)
	}
	var sum uint64
	for _, v := range values {
		sum += v
	}
	return sum, nil
}

func (s *Scheduler) threads(r *schedule.Report) error {
	var (
		path uint64
		t    schedMisstepThread
		all  []schedMisstepThread
	)
	entries := s.objects.Threads.Iterate()
	for entries.Next(&path, &t) {
		all = append(all, t)
		s.names.Add(schedule.Record{Path: t.Path, Delay: t.Parent, Counter: t.Ordinal})
	}
	if err := entries.Err(); err != nil {
		return fmt.Errorf("read counters of threads: %w", err)
	}
	slices.SortFunc(all, func(a, b schedMisstepThread) int {
		return cmp.Or(cmp.Compare(a.Tid, b.Tid), cmp.Compare(a.Path, b.Path))
	})
	for _, t := range all {
		r.Threads = append(r.Threads, schedule.ThreadReport{
			Name: s.names.Name(t.Path), Path: t.Path, TID: t.Tid, PID: t.Tgid, Comm: chars(t.Comm[:]),
			Role: schedule.Role(t.Role).String(), Decisions: t.Decisions, Delays: t.Delays, Starved: t.Starved,
			ShortSlices: t.Shorts, Preemptions: t.Forced, PriorityChanges: t.Changes, Overtaken: t.Overtaken,
			Delay: time.Duration(t.DelayTotal), LongestDelay: time.Duration(t.DelayLongest),
			LongestWait: time.Duration(t.WaitLongest), Ran: time.Duration(t.Ran),
		})
	}
	return nil
}
