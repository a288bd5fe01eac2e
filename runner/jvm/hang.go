package jvm

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"misstep/agent"
	"misstep/internal/capped"
	misstepv1 "misstep/proto/misstep/v1"
)

const (
	watchTime   = 500 * time.Millisecond // between two looks at who runs
	maxThreads  = 2048                   // of one JVM that are looked at
	gdbPatience = 20 * time.Second       // gdb reads libjvm's symbols first
	dumpWait    = 5 * time.Second        // for HotSpot's thread dump, which needs a safepoint
	heldWait    = time.Second            // for the same while a signal handler hangs, which mostly keeps the JVM from it
	abortWait   = 2 * time.Second        // between SIGABRT and SIGKILL
	maxDump     = 4 << 20                // bytes of a thread dump
)

// hung looks at a JVM that makes no progress from outside, first without its help (/proc, gdb), then with (SIGQUIT), and ends it.
// slot is the walk that does not end, nil when only the time is up. It returns false when the walk ended meanwhile: then nothing is known
// of a hang, and nothing was ended.
func (t *trial) hung(ctx context.Context, slot *agent.ThreadSlot, reason string) bool {
	if t.crashing() { // HotSpot got stuck while it reported a crash: classify sees the error file
		t.verdict.reason = reason
		return true
	}
	t.executor.Logger.WarnContext(ctx, "JVM hangs; looking at it from outside", "trial", t.name, "pid", t.jvm.PID(), "reason", reason)
	hang := &misstepv1.Hang{Cause: "limit"}
	progressing := t.worksOn() || t.progressing() // before gdb stops it, which may take longer than progress may be old
	threads, starved := watchThreads(ctx, t.jvm.PID())
	native := t.nativeStacks(ctx)
	wait := dumpWait
	if slot != nil && slot.Phase.Handles() {
		wait = heldWait
	}
	dump := t.threadDump(ctx, wait)
	t.readStatus()
	if slot != nil && !isIn(t.status, slot) {
		t.executor.Logger.WarnContext(ctx, "the walk was late and ended", "trial", t.name, "tid", slot.TID, "sequence", slot.Sequence)
		return false
	}
	t.exhibit("native-stacks.txt", native)
	t.exhibit("thread-dump.txt", dump)

	progressing = t.worksOn() || progressing // on a busy machine a JVM may only have begun when its time is up
	java, deadlock := parseThreadDump(string(dump))
	// A JVM that reached a safepoint for its dump, and whose threads got on until now, is only late: no finding.
	if slot == nil && dump != nil && !deadlock && progressing {
		t.fail("time", "%s, though it was getting on: raise limits.wall, or lower repetitions, ratio or shares", reason)
		return true
	}
	stacks := parseGDB(string(native))
	// A thread that hangs in a signal handler keeps the JVM from its dump: the agent knows what is on the shadows.
	told, err := t.readFile(filepath.Join(dirAgent, fileShadows), maxDump)
	if err != nil {
		t.executor.Logger.WarnContext(ctx, "cannot read the threads' shadows", "trial", t.name, "error", err)
	}
	t.exhibit(fileShadows, told)
	shadows := map[int64]javaThread{}
	if slot != nil && bytes.HasPrefix(told, fmt.Appendf(nil, "sample %d of %d\n", slot.Sequence, slot.TID)) { // not of a handler that came back
		shadows, _ = parseThreadDump(string(told))
	}
	for _, thread := range threads {
		if j, ok := java[thread.Tid]; ok {
			thread.Name, thread.JavaFrames, thread.WaitsFor, thread.HeldBy = j.name, j.frames, j.waitsFor, j.heldBy
		} else {
			thread.JavaFrames = shadows[thread.Tid].frames
		}
		for _, f := range stacks[thread.Tid] {
			thread.NativeFrames = append(thread.NativeFrames, f.GDB())
		}
	}
	switch {
	case starved && slot != nil && isRunnable(threads, int64(slot.TID)): // a walk that gets no processor cannot end
		hang.Cause = "starved"
	case slot != nil && slot.Phase.Walks():
		hang.Cause = "in-walk"
	case slot != nil:
		hang.Cause = "in-agent"
	case deadlock:
		hang.Cause = "deadlock"
	case starved:
		hang.Cause = "starved"
	case dump == nil:
		hang.Cause = "safepoint"
	}
	hang.Threads = threads
	if slot != nil {
		// The culprit first; the others by tid, as /proc has them.
		slices.SortStableFunc(hang.Threads, func(a, b *misstepv1.HungThread) int {
			return cmp.Compare(btoi(a.Tid != int64(slot.TID)), btoi(b.Tid != int64(slot.TID)))
		})
	}
	t.exhibit("kernel-threads.txt", kernelText(threads))
	t.readStatus() // as it was before it is killed
	t.verdict.hang, t.verdict.reason = hang, reason

	t.jvm.Abort()
	select {
	case <-t.jvm.Done():
	case <-ctx.Done():
	case <-time.After(abortWait):
	}
	return true
}

// isRunnable says whether a thread could run if it were let.
func isRunnable(threads []*misstepv1.HungThread, tid int64) bool {
	return slices.ContainsFunc(threads, func(t *misstepv1.HungThread) bool { return t.GetTid() == tid && strings.HasPrefix(t.GetState(), "R") })
}

// isIn says whether the thread is in the agent as it was then, and not again.
func isIn(status agent.Status, then *agent.ThreadSlot) bool {
	return slices.ContainsFunc(status.Threads, func(now agent.ThreadSlot) bool {
		return now.TID == then.TID && now.Phase != agent.PhaseNone && now.EnterNanos == then.EnterNanos
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// watchThreads looks at a process's threads as often as they seem starved: on a loaded machine they get their turn sooner or later, under a
// scheduler that forgot them never.
func watchThreads(ctx context.Context, pid int) (threads []*misstepv1.HungThread, starved bool) {
	const looks = 4
	for range looks {
		if threads, starved = lookAtThreads(ctx, pid); !starved {
			break
		}
	}
	return threads, starved
}

// lookAtThreads looks twice at a process's threads, without stopping it, and says what share of the time between each ran. It is
// starved when some could run and none did.
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
				// The kernel adds a wait up when it ends: one that lasts all the time has not been counted yet.
				if b == a {
					waited = 1
				}
			}
		}
	}
	return threads, ran < 0.01 && waited > 0.9
}

// schedstat is what the kernel counted of a thread: nanoseconds on a CPU and waiting for one.
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

// threadState is the letter of a thread's state (proc_pid_stat(5)), "?" when it cannot be had.
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

// nativeStacks asks gdb for all stacks, if there is one that may. A gdb that does not come back is killed; the kernel lets
// its prey go then.
func (t *trial) nativeStacks(ctx context.Context) []byte {
	return t.gdb(ctx, fmt.Sprintf("thread apply all bt %d", maxFrames), "-p", strconv.Itoa(t.jvm.PID()))
}

// gdb runs one command of it on a process or a core file, bounded in time and output; nothing without gdb.
func (t *trial) gdb(ctx context.Context, command string, target ...string) []byte {
	gdb, err := exec.LookPath("gdb")
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, gdbPatience)
	defer cancel()
	// -nx, auto-load off: no file of the workload is run by gdb; no debug information is fetched.
	cmd := exec.CommandContext(ctx, gdb, append([]string{
		"-batch", "-nx", "-iex", "set auto-load off", "-iex", "set debuginfod enabled off",
		"-ex", "set pagination off", "-ex", "set print frame-arguments none", "-ex", command,
	}, target...)...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "HOME=" + t.path(dirHome)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	limited := capped.New(&out, maxDump)
	cmd.Stdout, cmd.Stderr = limited, limited
	if err := cmd.Run(); err != nil {
		fmt.Fprintf(&out, "\n[misstep: gdb: %v]\n", err)
	}
	return out.Bytes()
}

// threadDump asks HotSpot for its own view: SIGQUIT makes it print all Java stacks on stdout. Empty when it does not begin to answer within
// wait, as in a hang that keeps it from its safepoint.
func (t *trial) threadDump(ctx context.Context, wait time.Duration) []byte {
	read := t.stdout.Tap(maxDump)
	t.jvm.Signal(syscall.SIGQUIT)
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	begun := false
	for waiting := true; waiting; {
		select {
		case <-ctx.Done():
			waiting = false
		case <-t.jvm.Done(): // -Xrs: SIGQUIT ends it
			waiting = false
		case <-deadline.C:
			waiting = false
		case <-poll.C:
			// "JNI global refs" is the last line of the threads; deadlocks and the heap follow within the same operation.
			text := read()
			if !begun && bytes.Contains(text, []byte("Full thread dump")) {
				begun = true
				deadline.Reset(dumpWait)
			}
			if bytes.Contains(text, []byte("\nHeap\n")) {
				waiting = false
				// The heap's lines come in one more write or two; a moment more is enough and its lack does no harm.
				select {
				case <-t.jvm.Done():
				case <-time.After(50 * time.Millisecond):
				}
			}
		}
	}
	text := read()
	if at := bytes.Index(text, []byte("Full thread dump")); at >= 0 {
		return text[at:]
	}
	return nil
}
