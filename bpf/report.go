package bpf

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"golang.org/x/sys/unix"
)

// Report says what a scheduler did to its tree.
type Report struct {
	Perturbation
	// Decisions of all threads, and how many of them did what.
	Decisions       uint64 `json:"decisions"`
	Delays          uint64 `json:"delays"`
	Released        uint64 `json:"released"`
	Starved         uint64 `json:"starved"`
	ShortSlices     uint64 `json:"short_slices"`
	Preemptions     uint64 `json:"preemptions"`
	PriorityChanges uint64 `json:"priority_changes"`
	Overtaken       uint64 `json:"overtaken"`
	Direct          uint64 `json:"direct"`
	// Outside counts turns of threads that use SCHED_EXT but are not of the tree; they were left alone.
	Outside uint64 `json:"outside"`
	// Threads of the tree.
	ThreadCount uint64 `json:"thread_count"`
	// Lost records of the log.
	Lost uint64 `json:"lost"`
	// Unlisted threads, for whose counters there was no room.
	Unlisted uint64 `json:"unlisted"`
	// Histograms of delays as chosen, of how late delayed threads were released, and of waits from ready to running.
	Chosen Histogram `json:"chosen"`
	Late   Histogram `json:"late"`
	Wait   Histogram `json:"wait"`
	// Threads in the order of their creation.
	Threads []ThreadReport `json:"threads"`
	// Ejection when the kernel took the scheduler out by itself; the run then proves nothing.
	Ejection *Ejection `json:"ejection,omitempty"`
	// Replay when a log was replayed.
	Replay *ReplayReport `json:"replay,omitempty"`
}

// ThreadReport says what happened to one thread.
type ThreadReport struct {
	// Name is the path of creation.
	Name string `json:"name"`
	Path uint64 `json:"path"`
	TID  uint32 `json:"tid"`
	PID  uint32 `json:"pid"`
	Comm string `json:"comm"`
	Role string `json:"role"`
	// Decisions, and how many of them did what.
	Decisions       uint32 `json:"decisions"`
	Delays          uint32 `json:"delays"`
	Starved         uint32 `json:"starved"`
	ShortSlices     uint32 `json:"short_slices"`
	Preemptions     uint32 `json:"preemptions"`
	PriorityChanges uint32 `json:"priority_changes"`
	Overtaken       uint32 `json:"overtaken"`
	// Delay in total, the longest one, the longest wait from ready to running, and the time on a CPU.
	Delay        time.Duration `json:"delay_ns"`
	LongestDelay time.Duration `json:"longest_delay_ns"`
	LongestWait  time.Duration `json:"longest_wait_ns"`
	Ran          time.Duration `json:"ran_ns"`
}

// Ejection says why the kernel took the scheduler out.
type Ejection struct {
	// Kind: "error", "watchdog", "sysrq", "kernel", or "bpf" for the scheduler's own word.
	Kind    string `json:"kind"`
	Code    int64  `json:"code"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

func (e *Ejection) String() string {
	text := e.Kind + ": " + e.Reason
	if e.Message != "" {
		text += " (" + e.Message + ")"
	}
	return text
}

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

func ejection(e schedMisstepExit) *Ejection {
	kinds := map[uint32]string{
		exitByBPF: "bpf", exitByKernel: "kernel", exitBySysRq: "sysrq", exitError: "error", exitErrorBPF: "error", exitErrorStall: "watchdog",
	}
	if e.Kind == 0 || e.Kind == exitUnregistered {
		return nil
	}
	kind, known := kinds[e.Kind]
	if !known {
		kind = fmt.Sprintf("kind %d", e.Kind)
	}
	return &Ejection{Kind: kind, Code: e.Code, Reason: chars(e.Reason[:]), Message: chars(e.Message[:])}
}

func chars(c []int8) string {
	b := make([]byte, len(c))
	for i, x := range c {
		b[i] = byte(x)
	}
	return unix.ByteSliceToString(b)
}

// Histogram counts durations by powers of two: the i-th count is of [2^i, 2^(i+1)) nanoseconds.
type Histogram []uint64

// Count of all durations.
func (h Histogram) Count() uint64 {
	var n uint64
	for _, x := range h {
		n += x
	}
	return n
}

// Quantile returns a bound that at least the share q of the durations is below; 0 for an empty histogram.
func (h Histogram) Quantile(q float64) time.Duration {
	var n uint64
	for i, x := range h {
		n += x
		if n > 0 && float64(n) >= q*float64(h.Count()) {
			return time.Duration(1) << (i + 1)
		}
	}
	return 0
}

func (h Histogram) String() string {
	if h.Count() == 0 {
		return "none"
	}
	return fmt.Sprintf("%d, half below %v, 99 %% below %v, all below %v", h.Count(), h.Quantile(0.5), h.Quantile(0.99), h.Quantile(1))
}

// Applied counts by action, as in a perturbation report: "delay", "preempt", "priority", "starve".
func (r *Report) Applied() map[string]uint64 {
	applied := map[string]uint64{
		"delay": r.Delays - r.Starved, "preempt": r.Preemptions + r.Overtaken, "priority": r.PriorityChanges, "starve": r.Starved,
	}
	maps.DeleteFunc(applied, func(_ string, n uint64) bool { return n == 0 })
	return applied
}

func (s *Scheduler) report() (*Report, error) {
	r := &Report{Perturbation: s.options.Perturbation}
	var stats [schedMisstepStatMISSTEP_STATS]uint64
	for i := range stats {
		n, err := perCPU(s, i)
		if err != nil {
			return r, err
		}
		stats[i] = n
	}
	r.count(stats[:])
	for i, h := range []*Histogram{&r.Chosen, &r.Late, &r.Wait} {
		*h = make(Histogram, buckets)
		for j := range buckets {
			var values []uint64
			if err := s.objects.Histograms.Lookup(uint32(i*buckets+j), &values); err != nil {
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
		return r, fmt.Errorf("read why the scheduler ended: %w", err)
	}
	r.Ejection = ejection(end)
	if s.options.Replay != nil {
		r.Replay = s.replayReport(r, stats[:])
	}
	return r, nil
}

// count takes the counters by enum misstep_stat.
func (r *Report) count(stats []uint64) {
	r.Decisions = stats[schedMisstepStatMISSTEP_STAT_DECISIONS]
	r.Delays = stats[schedMisstepStatMISSTEP_STAT_DELAYS]
	r.Released = stats[schedMisstepStatMISSTEP_STAT_RELEASED]
	r.Starved = stats[schedMisstepStatMISSTEP_STAT_STARVED]
	r.ShortSlices = stats[schedMisstepStatMISSTEP_STAT_SHORT]
	r.Preemptions = stats[schedMisstepStatMISSTEP_STAT_FORCED]
	r.PriorityChanges = stats[schedMisstepStatMISSTEP_STAT_CHANGES]
	r.Overtaken = stats[schedMisstepStatMISSTEP_STAT_OVERTAKEN]
	r.Direct = stats[schedMisstepStatMISSTEP_STAT_DIRECT]
	r.Outside = stats[schedMisstepStatMISSTEP_STAT_OUTSIDE]
	r.ThreadCount = stats[schedMisstepStatMISSTEP_STAT_THREADS]
	r.Lost = stats[schedMisstepStatMISSTEP_STAT_LOST]
	r.Unlisted = stats[schedMisstepStatMISSTEP_STAT_UNLISTED]
}

// buckets is MISSTEP_BUCKETS of intf.h.
const buckets = 40

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

func (s *Scheduler) threads(r *Report) error {
	var (
		path uint64
		t    schedMisstepThread
		all  []schedMisstepThread
	)
	entries := s.objects.Threads.Iterate()
	for entries.Next(&path, &t) {
		all = append(all, t)
		s.names.add(Record{Path: t.Path, Delay: t.Parent, Counter: t.Ordinal})
	}
	if err := entries.Err(); err != nil {
		return fmt.Errorf("read counters of threads: %w", err)
	}
	slices.SortFunc(all, func(a, b schedMisstepThread) int {
		return cmp.Or(cmp.Compare(a.Tid, b.Tid), cmp.Compare(a.Path, b.Path))
	})
	for _, t := range all {
		r.Threads = append(r.Threads, ThreadReport{
			Name: s.names.name(t.Path), Path: t.Path, TID: t.Tid, PID: t.Tgid, Comm: chars(t.Comm[:]), Role: Role(t.Role).String(),
			Decisions: t.Decisions, Delays: t.Delays, Starved: t.Starved, ShortSlices: t.Shorts, Preemptions: t.Forced,
			PriorityChanges: t.Changes, Overtaken: t.Overtaken,
			Delay: time.Duration(t.DelayTotal), LongestDelay: time.Duration(t.DelayLongest), LongestWait: time.Duration(t.WaitLongest),
			Ran: time.Duration(t.Ran),
		})
	}
	return nil
}

// Write prints the report for people: totals, then roles, then the threads with the most decisions, at most so many.
func (r *Report) Write(w io.Writer, threads int) {
	fmt.Fprintf(w, "strategy %s, seed %d: %d decisions of %d threads\n", r.Strategy, r.Seed, r.Decisions, r.ThreadCount)
	fmt.Fprintf(w, "delays: %d, of them %d to the end of a starvation window; as decided: %s\n", r.Delays, r.Starved, r.Chosen)
	fmt.Fprintf(w, "released late by: %s\n", r.Late)
	fmt.Fprintf(w, "preemptions: %d at the end of a slice, %d for a thread of higher priority; short slices decided: %d\n", r.Preemptions, r.Overtaken, r.ShortSlices)
	fmt.Fprintf(w, "priority changes: %d\n", r.PriorityChanges)
	fmt.Fprintf(w, "waits from ready to running: %s\n", r.Wait)
	if r.Lost > 0 {
		fmt.Fprintf(w, "records lost: %d\n", r.Lost)
	}
	if r.Unlisted > 0 {
		fmt.Fprintf(w, "threads not listed: %d\n", r.Unlisted)
	}
	t := tabwriter.NewWriter(w, 2, 8, 2, ' ', 0)
	fmt.Fprintln(t, "ROLE\tTHREADS\tDECISIONS\tDELAYS\tDELAYED\tSTARVED\tPREEMPTED\tPRIORITIES\tRAN")
	byRole := map[string][]ThreadReport{}
	for _, thread := range r.Threads {
		byRole[thread.Role] = append(byRole[thread.Role], thread)
	}
	for _, role := range roleNames {
		if len(byRole[role]) > 0 {
			sum := total(byRole[role])
			fmt.Fprintf(t, "%s\t%d\t%s\n", role, len(byRole[role]), sum.columns())
		}
	}
	t.Flush()
	busiest := slices.Clone(r.Threads)
	slices.SortStableFunc(busiest, func(a, b ThreadReport) int { return cmp.Compare(b.Decisions, a.Decisions) })
	if len(busiest) > threads {
		busiest = busiest[:threads]
	}
	if len(busiest) > 0 {
		fmt.Fprintln(t, "THREAD\tNAME\tROLE\tDECISIONS\tDELAYS\tDELAYED\tSTARVED\tPREEMPTED\tPRIORITIES\tRAN")
		for _, x := range busiest {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", x.Name, printable(x.Comm), x.Role, x.columns())
		}
		t.Flush()
	}
	if r.Replay != nil {
		r.Replay.write(w)
	}
	if r.Ejection != nil {
		fmt.Fprintf(w, "ejected by the kernel: %s\n", r.Ejection)
	}
}

func total(threads []ThreadReport) ThreadReport {
	var sum ThreadReport
	for _, x := range threads {
		sum.Decisions += x.Decisions
		sum.Delays += x.Delays
		sum.Delay += x.Delay
		sum.Starved += x.Starved
		sum.Preemptions += x.Preemptions
		sum.Overtaken += x.Overtaken
		sum.PriorityChanges += x.PriorityChanges
		sum.Ran += x.Ran
	}
	return sum
}

func (t ThreadReport) columns() string {
	return fmt.Sprintf("%d\t%d\t%v\t%d\t%d\t%d\t%v", t.Decisions, t.Delays, t.Delay.Round(time.Microsecond), t.Starved, t.Preemptions+t.Overtaken,
		t.PriorityChanges, t.Ran.Round(time.Microsecond))
}

// printable keeps a thread's name, which any program may choose, from writing to a terminal.
func printable(s string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) || c == '\ufffd' {
			return '?'
		}
		return c
	}, s)
}
