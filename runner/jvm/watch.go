package jvm

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/agent"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/perturb"
	"misstep/runner/process"
)

const (
	// tick is the interval of the checks of the JVM's own memory; every fullLook-th tick looks at everything.
	tick     = 100 * time.Millisecond
	fullLook = 5
	// progressAge is the maximum age of the last check of a JVM that makes progress.
	progressAge = 10 * time.Second
	// inWalkAge is the maximum time of a handler or a walk, which takes microseconds and never blocks. With two looks and the
	// time for collecting the stacks, a hang is found within ten seconds. The agent writes the shadow stacks a second before
	// (native/src/hung.h).
	inWalkAge = 4 * time.Second
	// inCheckAge is the maximum time of a check at a method entry, which may wait for a safepoint, and so for a full collection.
	inCheckAge = time.Minute
	// heldAge is inWalkAge of a thread that waits for a CPU in a perturbed trial: the scheduler may hold it in a walk for up to
	// four seconds, and again at the end of the next slice.
	heldAge = inWalkAge + 8*4*time.Second
	// maxWalkCPU is more CPU time than any walk takes.
	maxWalkCPU = 200 * time.Millisecond
)

func maxAge(phase agent.Phase) time.Duration {
	if phase != agent.PhaseHandler && !phase.Walks() {
		return inCheckAge
	}
	return inWalkAge
}

// watch observes the JVM until it ends, exceeds a limit, or hangs, and sets t.verdict. The error is ctx's.
func (t *trial) watch(ctx context.Context) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	wall := time.NewTimer(t.limits.wall)
	defer wall.Stop()
	var perturbationEnded <-chan struct{}
	if t.session != nil {
		perturbationEnded = t.session.Over()
	}
	stuck := stuckness{}
	if t.session != nil && perturb.Of(t.recipe).GetMechanism() != misstepv1.MechanismAgent {
		stuck.held = func(tid uint32) (bool, uint64) { return mayBeHeld(t.jvm.PID(), int64(tid)) }
	}
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.jvm.Done():
			return nil
		case <-perturbationEnded:
			t.verdict.ejected = true
			return nil
		case name := <-t.excessive:
			t.fail("output", "%s grew beyond %d MiB", name, t.limits.output*hardOutput>>20)
			return nil
		case <-wall.C:
			t.hung(ctx, nil, fmt.Sprintf("no end within the limit of %v", t.limits.wall))
			return ctx.Err()
		case <-ticker.C:
		}
		rss := t.jvm.LeaderRSS()
		if n%fullLook == 0 {
			rss = t.look()
			if t.verdict.failure != nil {
				return nil
			}
			if slot, age := stuck.look(t.status, t.recorded); slot != nil {
				reason := fmt.Sprintf("thread %d is in phase %q for %v", slot.TID, slot.Phase, age.Round(time.Second))
				if t.hung(ctx, slot, reason) {
					return ctx.Err()
				}
			}
		}
		t.maxRSS = max(t.maxRSS, t.jvm.LeaderRSS())
		if rss > t.limits.memory {
			t.fail("memory", "resident memory of %d MiB is beyond the limit of %d MiB", rss>>20, t.limits.memory>>20)
			return nil
		}
	}
}

// look observes everything that is not observed on every tick, and returns the summed resident memory in bytes.
func (t *trial) look() uint64 {
	usage := t.jvm.Usage()
	t.maxRSS = max(t.maxRSS, usage.MaxRSS)
	switch {
	case usage.Processes > maxProcesses:
		t.fail("processes", "the trial has %d processes, beyond the limit of %d", usage.Processes, maxProcesses)
		return usage.RSS
	case usage.Threads >= process.MaxTasks || t.cgroup.OutOfTasks():
		t.fail("processes", "the trial has as many threads as all its processes may have: %d", process.MaxTasks)
		return usage.RSS
	}
	size, err := t.folder.Size(t.limits.disk)
	if size += usage.Unlinked; size > t.limits.disk {
		t.fail("disk", "the trial's folder holds %d MiB, %d of them in files without a name, beyond the limit of %d MiB", size>>20,
			usage.Unlinked>>20, t.limits.disk>>20)
	} else if err != nil {
		t.fail("disk", "the trial's folder counts as beyond the limit of %d MiB: %v", t.limits.disk>>20, err)
	}
	t.updateProgress()
	if t.status.Started {
		t.looks++
	}
	t.report(&misstepv1.Progress{
		Phase: "run", Checks: t.counts(), Signals: t.signals(), Wall: durationpb.New(time.Since(t.jvm.Began())),
	})
	return usage.RSS
}

// work counts the checks made by the workload's own threads: at method entries and in signal handlers.
func (t *trial) work() (n uint64) {
	for _, c := range t.status.Checks {
		if c.Name != recipe.Liveness {
			n += c.Total
		}
	}
	return n
}

// updateProgress reads the status and reports whether the workload has made progress since it was last read.
func (t *trial) updateProgress() bool {
	t.readStatus()
	work := t.work()
	if work <= t.worked {
		return false
	}
	t.worked, t.workedAt = work, time.Now()
	return true
}

// progressing reports whether the workload has made progress recently: then it is slow, or loops because of a bug of its own, but
// its JVM does not hang.
func (t *trial) progressing() bool { return t.worked > 0 && time.Since(t.workedAt) < progressAge }

func (t *trial) fail(reason, format string, args ...any) {
	t.verdict.failure = &misstepv1.ApplicationFailure{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// crashing reports whether HotSpot is writing, or has written, its error file: what looks like a hang is a crash.
func (t *trial) crashing() bool {
	info, err := os.Stat(t.path(fileCrash))
	return err == nil && info.Size() > 0
}

// stuckness remembers the overdue walks of the last look: only a walk that is overdue at two looks in a row counts, since a
// slot may be read while it changes.
type stuckness struct {
	// held reports whether a scheduler may hold a thread, and how many nanoseconds the thread has run in total; nil where no
	// scheduler holds threads.
	held func(tid uint32) (may bool, ran uint64)
	old  map[uint32]oldWalk
}

// mayBeHeld reports whether a scheduler may hold a thread of a process, which is impossible while the thread sleeps, and the
// nanoseconds that the thread has run in total.
func mayBeHeld(pid int, tid int64) (may bool, ran uint64) {
	return threadState(pid, tid) != "S", threadSchedule(pid, tid).ran
}

// oldWalk is an overdue walk as first observed, and whether a scheduler may have held its thread at the last look.
type oldWalk struct {
	enter, ran uint64
	held       bool
}

func (s *stuckness) look(status agent.Status, recorded bool) (*agent.ThreadSlot, time.Duration) {
	if !recorded {
		return nil, 0
	}
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return nil, 0
	}
	before := s.old
	s.old = map[uint32]oldWalk{}
	for _, slot := range status.Threads {
		age := time.Duration(now.Nano() - int64(slot.EnterNanos)) // nanoseconds since boot fit into 63 bits
		if slot.Phase == agent.PhaseNone || age < maxAge(slot.Phase) {
			continue
		}
		walk := oldWalk{enter: slot.EnterNanos}
		if s.held != nil {
			walk.held, walk.ran = s.held(slot.TID)
		}
		first, again := before[slot.TID]
		again = again && first.enter == walk.enter
		// No scheduler holds a thread that sleeps, or that has run for longer than a walk takes. Stack scanning is many walks.
		runs := time.Duration(walk.ran-first.ran) >= maxWalkCPU && slot.Phase != agent.PhaseGuess
		excused := (first.held || walk.held) && !runs && age < heldAge
		if again {
			walk.ran = first.ran
		}
		s.old[slot.TID] = walk
		if again && !excused {
			return &slot, age
		}
	}
	return nil, 0
}
