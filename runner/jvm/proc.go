package jvm

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	misstepv1 "misstep/proto/misstep/v1"
)

// watchTime is between two looks at the threads' running times.
const watchTime = 500 * time.Millisecond

// watchThreads looks at a process's threads several times while they seem starved: on a loaded machine they run sooner or later,
// under a scheduler that lost them never.
func watchThreads(ctx context.Context, pid int) (threads []*misstepv1.HungThread, starved bool) {
	const maxLooks = 4
	for range maxLooks {
		if threads, starved = lookAtThreads(ctx, pid); !starved {
			break
		}
	}
	return threads, starved
}

// lookAtThreads looks twice at a process's threads, without stopping it, and sets the share of the time between that each thread
// ran. starved means that some were runnable and none ran.
func lookAtThreads(ctx context.Context, pid int) (threads []*misstepv1.HungThread, starved bool) {
	before := kernelThreads(pid)
	start := map[int64]schedstat{}
	for _, t := range before {
		start[t.GetTid()] = threadSchedule(pid, t.GetTid())
	}
	began := time.Now()
	select {
	case <-ctx.Done():
		return before, false
	case <-time.After(watchTime):
	}
	threads = kernelThreads(pid)
	elapsed := float64(time.Since(began))
	ran, waited := 0.0, 0.0
	for _, t := range threads {
		a, ok := start[t.GetTid()]
		if b := threadSchedule(pid, t.GetTid()); ok && b.known && a.known {
			t.Running = min(1, float64(b.ran-a.ran)/elapsed)
			ran = max(ran, t.GetRunning())
			if strings.HasPrefix(t.GetState(), "R") {
				waited = max(waited, float64(b.waited-a.waited)/elapsed)
				// The kernel counts a wait when it ends: one that lasts the whole time has not been counted yet.
				if b == a {
					waited = 1
				}
			}
		}
	}
	return threads, ran < 0.01 && waited > 0.9
}

// schedstat is the kernel's account of a thread: nanoseconds on a CPU and waiting for one.
type schedstat struct {
	ran, waited uint64
	known       bool
}

// threadSchedule reads /proc/PID/task/TID/schedstat (Documentation/scheduler/sched-stats.rst).
func threadSchedule(pid int, tid int64) schedstat {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/schedstat", pid, tid))
	if err != nil {
		return schedstat{}
	}
	var s schedstat
	_, err = fmt.Sscan(string(text), &s.ran, &s.waited)
	s.known = err == nil
	return s
}

// threadState returns the letter of a thread's state (proc_pid_stat(5)), "?" if it is unavailable.
func threadState(pid int, tid int64) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", pid, tid))
	if err != nil {
		return "?"
	}
	if i := bytes.LastIndex(stat, []byte(") ")); i >= 0 && len(stat) > i+2 {
		return string(stat[i+2 : i+3])
	}
	return "?"
}

// kernelThreads lists a process's threads with name, state and wait channel, in order of their tid.
func kernelThreads(pid int) []*misstepv1.HungThread {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil
	}
	var threads []*misstepv1.HungThread
	for _, e := range entries {
		tid, err := strconv.ParseInt(e.Name(), 10, 64)
		if err != nil || len(threads) >= maxThreads {
			continue
		}
		read := func(file string) string {
			data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/%s", pid, tid, file))
			if err != nil {
				return ""
			}
			return strings.ToValidUTF8(strings.TrimSpace(string(data)), "?")
		}
		state := threadState(pid, tid)
		if channel := read("wchan"); channel != "" && channel != "0" {
			state += " " + channel
		}
		threads = append(threads, &misstepv1.HungThread{Name: read("comm"), Tid: tid, State: state})
	}
	slices.SortFunc(threads, func(a, b *misstepv1.HungThread) int { return cmp.Compare(a.Tid, b.Tid) })
	return threads
}

func kernelText(threads []*misstepv1.HungThread) []byte {
	var b bytes.Buffer
	for _, t := range threads {
		fmt.Fprintf(&b, "%d %s: %s, ran %.0f %% of %v\n", t.GetTid(), t.GetName(), t.GetState(), 100*t.GetRunning(), watchTime)
	}
	return b.Bytes()
}
