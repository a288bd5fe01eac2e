package main

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"misstep/app/retention"
	"misstep/bench"
	"misstep/coordinator/store"
)

// round is what was measured of a round, or of as much time without one.
type round struct {
	Name string
	Took time.Duration
	// Read is the number of trials that it read.
	Read int64
	// Memory is the most that the heap grew, in bytes.
	Memory uint64
	// Updates that a writer made beside it, one after the other with a pause, and how long the slowest hundredth took at least.
	Updates  int
	P50, P99 time.Duration
}

type measuring struct {
	filler *filler
	keeper *retention.Keeper
	rounds []round
}

// counting counts the trials that are read of a store.
type counting struct {
	store.Store
	trials atomic.Int64
}

type countingTx struct {
	store.Tx
	of *counting
}

// View implements store.Store.
func (c *counting) View(ctx context.Context, f func(store.Tx) error) error {
	return c.Store.View(ctx, func(tx store.Tx) error { return f(countingTx{tx, c}) })
}

// Trials implements store.Tx.
func (t countingTx) Trials(campaign string, after uint64, limit int) ([]*store.Trial, error) {
	rows, err := t.Tx.Trials(campaign, after, limit)
	t.of.trials.Add(int64(len(rows)))
	return rows, err
}

func (m *measuring) all(ctx context.Context) error {
	counted := &counting{Store: m.keeper.Store}
	m.keeper.Store = counted
	garbage := func() error {
		_, _, err := m.keeper.Round(ctx, true)
		return err
	}
	const quiet = 10 * time.Second
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"no round", func() error { return pause(ctx, quiet) }},
		{"first round", garbage},
		{"next round", garbage},
		{fmt.Sprintf("next round, %d trials later", more), nil},
		{"no round again", func() error { return pause(ctx, quiet) }},
	} {
		if step.do == nil {
			if err := m.filler.add(ctx, more); err != nil {
				return err
			}
			step.do = garbage
		}
		counted.trials.Store(0)
		r, err := m.measure(ctx, step.name, step.do)
		if err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		r.Read = counted.trials.Load()
		m.rounds = append(m.rounds, r)
		bench.Note("%s: %v, %d trials read, heap +%d MiB, %d updates, p50 %v, p99 %v", r.Name,
			r.Took.Round(time.Millisecond), r.Read, r.Memory>>20, r.Updates, r.P50, r.P99)
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// measure runs a step beside a writer.
func (m *measuring) measure(ctx context.Context, name string, step func() error) (round, error) {
	runtime.GC()
	before := heap()
	var most atomic.Uint64
	stop := make(chan struct{})
	var beside sync.WaitGroup
	var times []time.Duration
	var failed error
	beside.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
			began := time.Now()
			if failed = m.filler.one(ctx); failed != nil {
				return
			}
			times = append(times, time.Since(began))
		}
	})
	beside.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				most.Store(max(most.Load(), heap()))
			}
		}
	})
	began := time.Now()
	err := step()
	r := round{Name: name, Took: time.Since(began)}
	close(stop)
	beside.Wait()
	if err == nil {
		err = failed
	}
	r.Memory = max(most.Load(), before) - before
	slices.Sort(times)
	if r.Updates = len(times); len(times) > 0 {
		r.P50, r.P99 = times[len(times)/2], times[len(times)*99/100]
	}
	return r, err
}

// heap returns the bytes of the heap in use, with what is not collected yet.
func heap() uint64 {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapInuse
}

// mostMemory is the goal for the memory of a round, in MiB.
const mostMemory = 64

func (m *measuring) goals() []bench.Goal {
	of := func(name string, value func(round) float64) float64 {
		for _, r := range m.rounds {
			if r.Name == name {
				return value(r)
			}
		}
		return math.NaN()
	}
	seconds := func(r round) float64 { return r.Took.Seconds() }
	slow := func(r round) float64 { return r.P99.Seconds() }
	memory := math.NaN()
	for _, r := range m.rounds {
		if mib := float64(r.Memory) / (1 << 20); r.Read > 0 && !(mib <= memory) {
			memory = mib
		}
	}
	return []bench.Goal{
		{Name: "memory of a round", Goal: mostMemory, Unit: "MiB", Measured: memory},
		{Name: "next round of the first", Goal: 0.1, Measured: of("next round", seconds) / of("first round", seconds)},
		{
			Name: "p99 of an update beside a round, of without", Goal: 2,
			Measured: of("first round", slow) / max(of("no round", slow), of("no round again", slow)),
		},
	}
}

func (m *measuring) tables() []bench.Table {
	t := bench.Table{Title: "Rounds", Columns: []string{
		"", "took", "trials read", "heap MiB", "updates beside", "p50", "p99",
	}}
	for _, r := range m.rounds {
		t.Rows = append(t.Rows, []string{
			r.Name, r.Took.Round(time.Millisecond).String(), fmt.Sprint(r.Read), fmt.Sprint(r.Memory >> 20), fmt.Sprint(r.Updates),
			r.P50.Round(10 * time.Microsecond).String(), r.P99.Round(10 * time.Microsecond).String(),
		})
	}
	return []bench.Table{t}
}
