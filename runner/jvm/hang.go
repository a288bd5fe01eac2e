package jvm

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"misstep/agent"
	"misstep/internal/capped"
	"misstep/internal/threaddump"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/process"
)

const (
	maxThreads  = threaddump.MaxThreads // threads of one JVM that are examined
	gdbTimeout  = 20 * time.Second      // gdb reads libjvm's symbols first
	dumpTimeout = 5 * time.Second       // for HotSpot's thread dump, which requires a safepoint
	heldTimeout = time.Second           // for the same while a signal handler hangs, which usually prevents the safepoint
	abortWait   = 5 * time.Second       // between SIGABRT and SIGKILL; JFR ends its recording meanwhile
	maxDump     = 4 << 20               // bytes of a thread dump
)

// hung examines a JVM that makes no progress from outside, first without its help (/proc, gdb), then with its help (SIGQUIT), and
// kills it. slot is the walk that does not end, nil if the time limit was exceeded. hung returns false if the walk has ended
// meanwhile: then there is no hang, and the JVM was not killed.
func (t *trial) hung(ctx context.Context, slot *agent.ThreadSlot, reason string) bool {
	if t.crashing() { // HotSpot got stuck while it reported a crash: classify sees the error file
		t.verdict.reason = reason
		return true
	}
	t.executor.Logger.WarnContext(ctx, "JVM hangs; examining it from outside", "scratch", t.name, "pid", t.jvm.PID(), "reason",
		reason)
	hang := &misstepv1.Hang{Cause: "limit"}
	progressing := t.updateProgress() || t.progressing() // before gdb stops the JVM, which may take longer than progressAge
	threads, starved := watchThreads(ctx, t.jvm.PID())
	native := t.nativeStacks(ctx)
	timeout := dumpTimeout
	if slot != nil && slot.Phase.Handles() {
		timeout = heldTimeout
	}
	dump := t.threadDump(ctx, timeout)
	t.readStatus()
	if slot != nil && !isIn(t.status, slot) {
		t.executor.Logger.WarnContext(ctx, "the walk ended late; it does not hang", "scratch", t.name, "tid", slot.TID,
			"sequence", slot.Sequence)
		return false
	}
	t.exhibit("kernel-threads.txt", kernelText(threads))
	t.exhibit("native-stacks.txt", native)
	t.exhibit("thread-dump.txt", dump)

	progressing = t.updateProgress() || progressing // on a busy machine a JVM may only have begun when its time limit is exceeded
	java := t.readDump(ctx, dump)
	// A JVM that reached a safepoint for its dump, and whose threads made progress until now, is only slow: no finding.
	if slot == nil && dump != nil && !java.Deadlock && progressing {
		t.fail("time", "%s, although it was making progress: raise limits.wall, or lower repetitions, ratio or shares", reason)
		return true
	}
	if dump != nil {
		more := t.virtualThreads(ctx)
		t.exhibit(fileThreads, more)
		java.Merge(t.readDump(ctx, more))
	}
	stacks := parseGDB(string(native))
	// A thread that hangs in a signal handler prevents the JVM's dump: the agent has written the shadow stacks.
	written, err := t.readFile(filepath.Join(dirAgent, fileShadows), maxDump)
	if err != nil {
		t.executor.Logger.WarnContext(ctx, "cannot read the threads' shadow stacks", "scratch", t.name, "error", err)
	}
	t.exhibit(fileShadows, written)
	shadows := &threaddump.Dump{}
	if slot != nil { // the first line names the sample: the file may be that of a handler that has returned
		if bytes.HasPrefix(written, fmt.Appendf(nil, "sample %d of %d\n", slot.Sequence, slot.TID)) {
			shadows = t.readDump(ctx, written)
		}
	}
	threads = join(threads, java, shadows)
	for _, thread := range threads {
		for _, f := range stacks[thread.Tid] {
			thread.NativeFrames = append(thread.NativeFrames, f.GDB())
		}
	}
	switch {
	case starved && slot != nil && isRunnable(threads, int64(slot.TID)): // a walk that gets no CPU cannot end
		hang.Cause = "starved"
	case slot != nil && slot.Phase.Walks():
		hang.Cause = "in-walk"
	case slot != nil:
		hang.Cause = "in-agent"
	case java.Deadlock:
		hang.Cause = "deadlock"
	case starved:
		hang.Cause = "starved"
	case dump == nil:
		hang.Cause = "safepoint"
	}
	hang.Threads = threads
	// A large outcome loses its last threads: the one that hangs in a walk comes first, then those that wait for another one, then
	// the other ones of Java; by tid, as in /proc.
	culprit := int64(-1)
	if slot != nil {
		culprit = int64(slot.TID)
	}
	slices.SortStableFunc(hang.Threads, func(a, b *misstepv1.HungThread) int {
		return cmp.Or(cmp.Compare(btoi(a.GetTid() != culprit), btoi(b.GetTid() != culprit)),
			cmp.Compare(btoi(a.GetHeldById() == 0), btoi(b.GetHeldById() == 0)),
			cmp.Compare(btoi(len(a.GetJavaFrames()) == 0), btoi(len(b.GetJavaFrames()) == 0)))
	})
	t.readStatus() // before the JVM is killed
	t.verdict.hang, t.verdict.reason = hang, reason

	t.jvm.Abort()
	select {
	case <-t.jvm.Done():
	case <-ctx.Done():
	case <-time.After(abortWait):
	}
	return true
}

// readDump reads a thread dump; an empty one if there is none.
func (t *trial) readDump(ctx context.Context, text []byte) *threaddump.Dump {
	if len(text) == 0 {
		return &threaddump.Dump{}
	}
	dump, err := threaddump.Parse(text)
	if err != nil {
		t.executor.Logger.WarnContext(ctx, "cannot read the JVM's threads", "scratch", t.name, "error", err)
		return &threaddump.Dump{}
	}
	return dump
}

// join adds to the threads that the kernel has what the JVM says about them, or the agent where the JVM says nothing, and the
// threads that only the JVM has: unmounted virtual ones.
func join(threads []*misstepv1.HungThread, java, shadows *threaddump.Dump) []*misstepv1.HungThread {
	byTID := map[int64]*misstepv1.HungThread{}
	for _, thread := range threads {
		byTID[thread.GetTid()] = thread
	}
	for i, s := range shadows.Threads {
		if thread := byTID[s.TID]; thread != nil {
			thread.JavaFrames = shadows.Threads[i].Frames
		}
	}
	for i, j := range java.Threads {
		thread := byTID[j.TID]
		switch {
		case j.TID != 0 && thread != nil:
			java.Fill(thread, i)
		case j.TID == 0 && j.Virtual && len(threads) < maxThreads:
			thread = &misstepv1.HungThread{State: j.State}
			java.Fill(thread, i)
			threads = append(threads, thread)
		}
	}
	return threads
}

// isRunnable reports whether a thread is runnable.
func isRunnable(threads []*misstepv1.HungThread, tid int64) bool {
	return slices.ContainsFunc(threads, func(t *misstepv1.HungThread) bool {
		return t.GetTid() == tid && strings.HasPrefix(t.GetState(), "R")
	})
}

// isIn reports whether the thread is still in the same walk or check as then, not in a later one.
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

// nativeStacks asks gdb for all stacks, if it is installed and may attach. A gdb that does not return is killed; the kernel then
// detaches it from the JVM.
func (t *trial) nativeStacks(ctx context.Context) []byte {
	return t.gdb(ctx, fmt.Sprintf("thread apply all bt %d", maxFrames), "-p", strconv.Itoa(t.jvm.PID()))
}

// gdb runs one gdb command on a process or a core file, bounded in time and output. It returns nil if gdb is not installed.
func (t *trial) gdb(ctx context.Context, command string, target ...string) []byte {
	gdb, err := exec.LookPath("gdb")
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, gdbTimeout)
	defer cancel()
	// -nx, auto-load off: gdb runs no file of the workload; it fetches no debug information.
	cmd := exec.CommandContext(ctx, gdb, append([]string{
		"-batch", "-nx", "-iex", "set auto-load off", "-iex", "set debuginfod enabled off",
		"-ex", "set pagination off", "-ex", "set print frame-arguments none", "-ex", command,
	}, target...)...)
	// The mark is for the next runner, if this one is killed meanwhile. gdb's Python runs what it finds below HOME: nothing there
	// is the workload's.
	cmd.Env = []string{
		"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "HOME=/nonexistent", "PYTHONNOUSERSITE=1", process.Mark + "=" + t.folder.Path,
	}
	cmd.Dir = "/"
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

// threadDump asks HotSpot for its own view: SIGQUIT makes it print all Java stacks on stdout. It returns nil if the dump does not
// begin within timeout, as in a hang that prevents the safepoint.
func (t *trial) threadDump(ctx context.Context, timeout time.Duration) []byte {
	read := t.stdout.Tap(maxDump)
	t.jvm.Signal(syscall.SIGQUIT)
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	begun := false
	for waiting := true; waiting; {
		select {
		case <-ctx.Done():
			waiting = false
		case <-t.jvm.Done(): // with -Xrs, SIGQUIT ends the JVM
			waiting = false
		case <-deadline.C:
			waiting = false
		case <-poll.C:
			// "JNI global refs" is the last line of the threads; deadlocks and the heap follow within the same operation.
			text := read()
			if !begun && bytes.Contains(text, []byte("Full thread dump")) {
				begun = true
				deadline.Reset(dumpTimeout)
			}
			if bytes.Contains(text, []byte("\nHeap\n")) {
				waiting = false
				// The heap's lines follow in one or two writes; a short wait suffices, and missing lines do no harm.
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
