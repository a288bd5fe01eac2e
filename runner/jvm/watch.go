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
)

const (
	// tick between two looks at the JVM's own memory; every fifth tick looks at everything.
	tick     = 100 * time.Millisecond
	fullLook = 5
	// progressAge is how long ago the last check may have been in a JVM that gets on.
	progressAge = 10 * time.Second
	// inWalkAge is how long a handler or a walk may take: it takes microseconds, and waits for nobody. With two looks and what it takes to
	// collect the stacks a hang is found within ten seconds. The agent writes the shadows a second before (native/src/hung.h).
	inWalkAge = 4 * time.Second
	// inCheckAge is how long a check at a method entry may take: it may wait for a safepoint, and so for a collection of the whole heap.
	inCheckAge = time.Minute
	// heldAge is inWalkAge of a thread that waits for a processor in a perturbed trial: the scheduler may hold it in a walk for up to four
	// seconds, and at the next slice's end again.
	heldAge = inWalkAge + 8*4*time.Second
	// mostRan is the time on a processor that no walk takes.
	mostRan = 200 * time.Millisecond
)

func maxAge(phase agent.Phase) time.Duration {
	if phase != agent.PhaseHandler && !phase.Walks() {
		return inCheckAge
	}
	return inWalkAge
}

// watch looks at the JVM until it ends, exceeds a limit, or hangs; then t.verdict says what was seen. The error is ctx's.
func (t *trial) watch(ctx context.Context) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	wall := time.NewTimer(t.limits.wall)
	defer wall.Stop()
	var over <-chan struct{}
	if t.session != nil {
		over = t.session.Over()
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
		case <-over:
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

// look takes in everything that is not looked at on every tick, and gives the summed resident memory.
func (t *trial) look() uint64 {
	usage := t.jvm.Usage()
	t.maxRSS = max(t.maxRSS, usage.MaxRSS)
	if size := t.folder.Size(); size > t.limits.disk {
		t.fail("disk", "the trial's folder holds %d MiB, beyond the limit of %d MiB", size>>20, t.limits.disk>>20)
	}
	t.worksOn()
	if t.status.Started {
		t.looks++
	}
	t.report(&misstepv1.Progress{
		Phase: "run", Checks: t.counts(), Signals: t.signals(), Wall: durationpb.New(time.Since(t.jvm.Began())),
	})
	return usage.RSS
}

// work counts what the workload's own threads did under the agent: checks at method entries and answered signals.
func (t *trial) work() (n uint64) {
	for _, c := range t.status.Checks {
		if c.Name != recipe.Liveness {
			n += c.Total
		}
	}
	return n
}

// worksOn reads the status and says whether the workload got on since it was read last.
func (t *trial) worksOn() bool {
	t.readStatus()
	work := t.work()
	if work <= t.worked {
		return false
	}
	t.worked, t.workedAt = work, time.Now()
	return true
}

// progressing says that the workload got on lately: it is slow, or loops by its own fault, but its JVM does not hang.
func (t *trial) progressing() bool { return t.worked > 0 && time.Since(t.workedAt) < progressAge }

func (t *trial) fail(reason, format string, args ...any) {
	t.verdict.failure = &misstepv1.ApplicationFailure{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// crashing says that HotSpot is about to write, or has written, its error file: what looks like a hang is a crash.
func (t *trial) crashing() bool {
	info, err := os.Stat(t.path(fileCrash))
	return err == nil && info.Size() > 0
}

// stuckness remembers which walks were old at the last look: only one that is old twice with the same sequence number counts, as a
// slot may be read in the middle of its change.
type stuckness struct {
	// held says whether a scheduler may hold a thread, and how many nanoseconds it has run in all; nil where no scheduler holds threads.
	held func(tid uint32) (may bool, ran uint64)
	old  map[uint32]oldWalk
}

// mayBeHeld says whether a scheduler may hold a thread of a process, which it cannot while that sleeps, and the nanoseconds that it has run.
func mayBeHeld(pid int, tid int64) (may bool, ran uint64) {
	return threadState(pid, tid) != "S", threadSchedule(pid, tid).ran
}

// oldWalk is a walk at its first look, and whether a scheduler may have held its thread at the last one.
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
		age := time.Duration(now.Nano() - int64(slot.EnterNanos)) // nanoseconds since boot fit
		if slot.Phase == agent.PhaseNone || age < maxAge(slot.Phase) {
			continue
		}
		walk := oldWalk{enter: slot.EnterNanos}
		if s.held != nil {
			walk.held, walk.ran = s.held(slot.TID)
		}
		first, again := before[slot.TID]
		again = again && first.enter == walk.enter
		// A thread that sleeps, or has run for longer than a walk takes, is held by no scheduler. Guesses are many walks.
		runs := time.Duration(walk.ran-first.ran) >= mostRan && slot.Phase != agent.PhaseGuess
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
