package schedule

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"
)

// Report tells what a perturbation did to the threads of a tree.
type Report struct {
	Perturbation
	// Decisions is the number of decisions of all threads; the following fields count them by effect.
	Decisions       uint64 `json:"decisions"`
	Delays          uint64 `json:"delays"`
	Released        uint64 `json:"released"`
	Starved         uint64 `json:"starved"`
	ShortSlices     uint64 `json:"short_slices"`
	Preemptions     uint64 `json:"preemptions"`
	PriorityChanges uint64 `json:"priority_changes"`
	Overtaken       uint64 `json:"overtaken"`
	Direct          uint64 `json:"direct"`
	// Outside counts runs of threads that use SCHED_EXT but do not belong to the tree; they were left alone.
	Outside uint64 `json:"outside"`
	// ThreadCount is the number of threads of the tree.
	ThreadCount uint64 `json:"thread_count"`
	// Lost is the number of records missing from the log.
	Lost uint64 `json:"lost"`
	// Unlisted is the number of threads for whose counters there was no room.
	Unlisted uint64 `json:"unlisted"`
	// Chosen has the delays as decided, Late how late delayed threads were released, Wait the times from ready to running.
	Chosen Histogram `json:"chosen"`
	Late   Histogram `json:"late"`
	Wait   Histogram `json:"wait"`
	// Threads are in the order of their creation.
	Threads []ThreadReport `json:"threads"`
	// Ejection is set if the kernel ejected the scheduler; the run then proves nothing.
	Ejection *Ejection `json:"ejection,omitempty"`
	// Replay is set if a log was replayed.
	Replay *ReplayReport `json:"replay,omitempty"`
}

// ThreadReport tells what a perturbation did to one thread.
type ThreadReport struct {
	// Name is the path of creation.
	Name string `json:"name"`
	Path uint64 `json:"path"`
	TID  uint32 `json:"tid"`
	PID  uint32 `json:"pid"`
	Comm string `json:"comm"`
	Role string `json:"role"`
	// Decisions is the number of the thread's decisions; the following fields count them by effect.
	Decisions       uint32 `json:"decisions"`
	Delays          uint32 `json:"delays"`
	Starved         uint32 `json:"starved"`
	ShortSlices     uint32 `json:"short_slices"`
	Preemptions     uint32 `json:"preemptions"`
	PriorityChanges uint32 `json:"priority_changes"`
	Overtaken       uint32 `json:"overtaken"`
	// Delay is the sum of all delays, LongestWait is from ready to running, and Ran is the time on a CPU.
	Delay        time.Duration `json:"delay_ns"`
	LongestDelay time.Duration `json:"longest_delay_ns"`
	LongestWait  time.Duration `json:"longest_wait_ns"`
	Ran          time.Duration `json:"ran_ns"`
}

// Ejection tells why the kernel ejected the scheduler.
type Ejection struct {
	// Kind is "error", "watchdog", "sysrq", "kernel", or "bpf" if the scheduler itself asked for it.
	Kind    string `json:"kind"`
	Code    int64  `json:"code"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Dump is what the kernel wrote about its run queues and tasks at that moment, many lines, at most 32 KiB; empty before Linux
	// 6.11 and for other kinds than "error" and "watchdog".
	Dump string `json:"dump,omitempty"`
}

func (e *Ejection) String() string {
	text := e.Kind + ": " + e.Reason
	if e.Message != "" {
		text += " (" + e.Message + ")"
	}
	return text
}

// Applied returns counts by action, as in a perturbation report: "delay", "preempt", "priority", "starve".
func (r *Report) Applied() map[string]uint64 {
	applied := map[string]uint64{
		"delay": r.Delays - r.Starved, "preempt": r.Preemptions + r.Overtaken, "priority": r.PriorityChanges, "starve": r.Starved,
	}
	maps.DeleteFunc(applied, func(_ string, n uint64) bool { return n == 0 })
	return applied
}

// Count sets the counters from stats, which is indexed by enum misstep_stat.
func (r *Report) Count(stats []uint64) {
	r.Decisions = stats[StatDecisions]
	r.Delays = stats[StatDelays]
	r.Released = stats[StatReleased]
	r.Starved = stats[StatStarved]
	r.ShortSlices = stats[StatShort]
	r.Preemptions = stats[StatForced]
	r.PriorityChanges = stats[StatChanges]
	r.Overtaken = stats[StatOvertaken]
	r.Direct = stats[StatDirect]
	r.Outside = stats[StatOutside]
	r.ThreadCount = stats[StatThreads]
	r.Lost = stats[StatLost]
	r.Unlisted = stats[StatUnlisted]
}

// Write prints the report for display: totals, roles, and at most the given number of threads, those with the most decisions.
func (r *Report) Write(w io.Writer, threads int) {
	fmt.Fprintf(w, "strategy %s, seed %d: %d decisions of %d threads\n", r.Strategy, r.Seed, r.Decisions, r.ThreadCount)
	fmt.Fprintf(w, "delays: %d, of them %d to the end of a starvation window; as decided: %s\n", r.Delays, r.Starved, r.Chosen)
	fmt.Fprintf(w, "released late by: %s\n", r.Late)
	fmt.Fprintf(w, "preemptions: %d at the end of a slice, %d for a thread of higher priority; short slices decided: %d\n",
		r.Preemptions, r.Overtaken, r.ShortSlices)
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
	for _, role := range RoleNames {
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
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", x.Name, Printable(x.Comm), x.Role, x.columns())
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
	return fmt.Sprintf("%d\t%d\t%v\t%d\t%d\t%d\t%v", t.Decisions, t.Delays, t.Delay.Round(time.Microsecond), t.Starved,
		t.Preemptions+t.Overtaken,
		t.PriorityChanges, t.Ran.Round(time.Microsecond))
}
