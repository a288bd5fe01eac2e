package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/bench"
	"misstep/bench/trial"
	"misstep/deploy/jdk"
	"misstep/internal/faults"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/jvm"
	"misstep/workloads"
)

// hangGoal is the time within which a hang inside a walk must be detected from outside, in seconds.
const hangGoal = 10

// misbehaviour is one JVM in which a walk hung or crashed, run by the runner's own executor.
type misbehaviour struct {
	Class, JDK, Where string
	// Kind of the outcome and the phase that it names; Found if both are right.
	Kind, Phase string
	Found       bool
	// Stacks: the thread has native and Java frames; hangs only.
	Stacks bool
	// Seconds from the fault until the watchdog detected it; Whole until the outcome with its stacks was available; hangs only.
	Seconds, Whole float64
}

// measureMisbehaviour makes walks hang and crash, at entries and in signal handlers, on every JDK, until the time is up.
func measureMisbehaviour(ctx context.Context, bed *trial.Bed, until time.Time) ([]misbehaviour, error) {
	var all []misbehaviour
	jdks := slices.DeleteFunc(slices.Clone(bed.JDKs), func(j jdk.Entry) bool { return !bed.Runs(j, "mix") })
	kinds := []struct{ class, where string }{
		{faults.Hang, "signal"}, {faults.Crash, "signal"}, {faults.Hang, "entry"}, {faults.Crash, "entry"},
	}
	for i := range 5 * len(kinds) * len(jdks) {
		if ctx.Err() != nil || !time.Now().Before(until) {
			break
		}
		// Both indices advance at each step, so that even a short budget covers all kinds and JDKs.
		k, j := kinds[i%len(kinds)], jdks[(i/len(kinds)+i)%len(jdks)]
		m, err := misbehave(ctx, bed, j, k.class, k.where, uint32(i))
		if err != nil {
			return all, err
		}
		if m == nil {
			continue
		}
		bench.Note("%s in a walk (%s) on %s: %s, phase %s, %.1f s", k.class, k.where, j.Name, m.Kind, m.Phase, m.Seconds)
		all = append(all, *m)
	}
	return all, nil
}

// misbehave returns nil for a run in which no walk happened to be altered.
func misbehave(ctx context.Context, bed *trial.Bed, j jdk.Entry, class, where string, seed uint32) (*misbehaviour, error) {
	dir := filepath.Join(bed.Dir, fmt.Sprintf("%s-%s-%s-%d", class, where, j.Name, seed))
	plan := faults.Plan{Classes: []string{class}, Rate: 1e-3, Seed: seed, Where: where}
	if err := faults.Wrap(dir, j.Path, bed.Injector, plan); err != nil {
		return nil, err
	}
	entry, err := bed.Workload("mix")
	if err != nil {
		return nil, err
	}
	unconfined, err := faults.Unconfined()
	if err != nil {
		return nil, err
	}
	seen := &firstWarning{}
	executor := &jvm.Executor{
		Sandbox: unconfined,
		JDK:     func(context.Context, *misstepv1.Jdk) (string, int, error) { return dir, j.Feature, nil },
		Workload: func(context.Context, *misstepv1.Workload) (string, workloads.Manifest, error) {
			m, err := workloads.Load(entry.Path)
			return entry.Path, m, err
		},
		Agent: bed.Agent, Scratch: filepath.Join(dir, "trials"), PatchCache: filepath.Join(bed.Dir, "patch"),
		Logger: slog.New(seen),
	}
	outcome, err := executor.Run(ctx, &misstepv1.Recipe{
		Jdk: &misstepv1.Jdk{Name: j.Name, Digest: j.Digest.String()}, Workload: &misstepv1.Workload{Name: "mix"},
		Seed:            uint64(seed),
		Instrumentation: &misstepv1.Instrumentation{Ratio: 1},
		Sampling:        &misstepv1.Sampling{Interval: durationpb.New(time.Millisecond), Jitter: 0.5},
		Checks:          []*misstepv1.Check{{Name: recipe.GstAsgct}, {Name: recipe.AsgctShadow}, {Name: recipe.Liveness}},
		Limits:          &misstepv1.Limits{Wall: durationpb.New(3 * time.Minute)},
	}, nil)
	end := monotonic()
	if err != nil {
		return nil, fmt.Errorf("run %s under the injector: %w", class, err)
	}
	log, err := faults.Read(filepath.Join(dir, faults.LogName))
	if err != nil {
		return nil, err
	}
	fault := &faults.Fault{}
	switch kind := outcome.GetKind(); {
	case len(log.Faults) > 0:
		fault = log.Faults[0]
	case kind != misstepv1.OutcomeKind_OUTCOME_KIND_CRASH && kind != misstepv1.OutcomeKind_OUTCOME_KIND_HANG:
		return nil, nil
	}
	// Several threads may reach a fault before the JVM has ended.
	injected := func(is func(*faults.Fault) bool) bool { return slices.ContainsFunc(log.Faults, is) }
	m := &misbehaviour{Class: class, JDK: j.Name, Where: where, Kind: misstepv1.OutcomeName(outcome.GetKind())}
	switch class {
	case faults.Crash:
		crash := outcome.GetCrash()
		m.Phase = crash.GetPhase()
		m.Found = outcome.GetKind() == misstepv1.OutcomeKind_OUTCOME_KIND_CRASH && crash.GetInWalk() && crash.GetWalkPc() != 0 &&
			injected(func(f *faults.Fault) bool { return f.Number() == crash.GetSample() })
	case faults.Hang:
		m.Phase = outcome.GetHang().GetCause()
		m.Found = outcome.GetKind() == misstepv1.OutcomeKind_OUTCOME_KIND_HANG && m.Phase == "in-walk"
		if threads := outcome.GetHang().GetThreads(); m.Found && len(threads) > 0 {
			m.Found = injected(func(f *faults.Fault) bool { return int64(f.TID) == threads[0].GetTid() })
			m.Stacks = len(threads[0].GetNativeFrames()) > 0 && len(threads[0].GetJavaFrames()) > 0
		}
		if at := seen.nanos.Load(); at != 0 && fault.Nanos != 0 {
			m.Seconds = float64(at-int64(fault.Nanos)) / 1e9 // nanoseconds since boot fit
			m.Whole = float64(end-int64(fault.Nanos)) / 1e9
		}
	}
	return m, nil
}

// firstWarning is a log handler that records the time of the first warning: the executor warns when it detects that a JVM hangs.
type firstWarning struct{ nanos atomic.Int64 }

func (*firstWarning) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}

func (f *firstWarning) Handle(context.Context, slog.Record) error {
	f.nanos.CompareAndSwap(0, monotonic())
	return nil
}

// monotonic returns CLOCK_MONOTONIC in nanoseconds, which the injector's log uses as well.
func monotonic() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // fails for unknown clocks only
	return now.Nano()
}

func (f *firstWarning) WithAttrs([]slog.Attr) slog.Handler { return f }
func (f *firstWarning) WithGroup(string) slog.Handler      { return f }

func misbehaviourTable(all []misbehaviour) bench.Table {
	t := bench.Table{
		Title:   "walks that do not return, as the runner observed them",
		Columns: []string{"class", "walk", "JDK", "outcome", "phase or cause", "right", "seconds", "with all", "both stacks"},
	}
	for _, m := range all {
		seconds, whole, stacks := "-", "-", "-"
		if m.Class == faults.Hang {
			seconds, whole, stacks = fmt.Sprintf("%.1f", m.Seconds), fmt.Sprintf("%.1f", m.Whole), fmt.Sprint(m.Stacks)
		}
		t.Rows = append(t.Rows, []string{m.Class, m.Where, m.JDK, m.Kind, m.Phase, fmt.Sprint(m.Found), seconds, whole, stacks})
	}
	return t
}

func misbehaviourGoals(all []misbehaviour) []bench.Goal {
	var goals []bench.Goal
	for _, class := range []string{faults.Crash, faults.Hang} {
		var found, stacks, tried float64
		var seconds, whole []float64
		for _, m := range all {
			if m.Class != class {
				continue
			}
			tried++
			if m.Found {
				found++
			}
			if m.Stacks {
				stacks++
			}
			if m.Found { // otherwise there is no time
				seconds, whole = append(seconds, m.Seconds), append(whole, m.Whole)
			}
		}
		goals = append(goals, bench.Goal{
			Name: fmt.Sprintf("%s found (%.0f tries)", class, tried), Goal: 100,
			Measured: 100 * found / tried, Unit: "%", AtLeast: true,
		})
		if class == faults.Hang {
			goals = append(goals,
				bench.Goal{Name: "slowest hang found", Goal: hangGoal, Measured: bench.Quantile(seconds, 1), Unit: "s"},
				bench.Goal{Name: "slowest hang with its stacks", Goal: hangGoal, Measured: bench.Quantile(whole, 1), Unit: "s"},
				bench.Goal{
					Name: "hangs with native and Java stacks", Goal: 100, Measured: 100 * stacks / tried, Unit: "%",
					AtLeast: true,
				})
		}
	}
	return goals
}
