package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"misstep/bench"
	"misstep/runner/sim/fleet"
)

// cell is one measurement.
type cell struct {
	Store        string
	Coordinators int
	Runners      int
	// Size of each campaign in trials, and results that the store held before: those that it was filled up to, and all.
	Size, Filled, Stored uint64
	// Observed is what the coordinator measures and exports of itself.
	Observed string `json:",omitempty"`
	// Guarded says whom the coordinator lets in, where it is the command's; see guardedBy.
	Guarded string `json:",omitempty"`
	// Trials are what trials are like, Slots those of each runner, where they are more than one, and Before says that the
	// coordinators are those of an earlier version.
	Trials string `json:",omitempty"`
	Slots  uint32 `json:",omitempty"`
	Before bool   `json:",omitempty"`
	// PerSecond are results with their next leases.
	PerSecond float64
	P50, P99  time.Duration
	// CPU is the coordinators' time for a call, Memory their resident memory for each runner in bytes.
	CPU    time.Duration
	Memory float64
	// Failed calls were repeated, Idle ones got no lease.
	Failed, Idle uint64
	// RunnersCPU is the time of the simulated runners for a call: they share the machine.
	RunnersCPU time.Duration
	// Elsewhere is the number of processors that were busy with something else: a PostgreSQL server, and others on the machine.
	Elsewhere float64
}

// results are what was measured.
type results struct {
	options options
	until   time.Time
	Cells   []cell
	Bare    map[string]float64 // results a second by store
	Hits    []hit
	Fleets  []fleetHit
	Looks   []look
	planned int
}

// measure measures cell after cell until the time is over.
func (r *results) measure(ctx context.Context, dir string) error {
	all, remove, err := databases(ctx, dir, r.options.stores)
	if err != nil {
		return err
	}
	defer remove()
	r.Bare = map[string]float64{}
	for _, db := range all {
		rate, err := bare(ctx, db)
		if err != nil {
			return fmt.Errorf("bare inserts into %s: %w", db.name, err)
		}
		r.Bare[db.name] = rate
		bench.Note("%s: %.0f bare inserts a second", db.name, rate)
	}
	for _, stock := range r.options.stocks {
		for _, db := range all {
			if db.volatile() && stock > 0 {
				continue
			}
			if err := r.measureStock(ctx, db, uint64(stock)); err != nil {
				return err
			}
		}
		if stock == 0 && r.options.observed {
			if err := r.measureObserved(ctx, all[0]); err != nil {
				return err
			}
		}
		if stock == 0 && r.options.guarded && !all[0].volatile() {
			if err := r.measureGuarded(ctx, all[0]); err != nil {
				return err
			}
		}
	}
	return nil
}

// measureStock measures a store that holds a number of results, with each fleet.
func (r *results) measureStock(ctx context.Context, db database, stock uint64) error {
	r.planned += len(r.options.fleets) * len(db.coordinators)
	if !db.volatile() && stock > 0 {
		url, err := db.of(ctx, stock)
		if err != nil {
			return err
		}
		have, err := fill(ctx, url, 0)
		if err != nil {
			return fmt.Errorf("fill %s: %w", db.name, err)
		}
		needed := filling(float64(stock)-float64(have), r.Bare[db.name])
		if time.Until(r.until) < needed+3*measured {
			bench.Note("%s: not measured with %d results stored, which takes %v: raise BUDGET", db.name, stock,
				needed.Round(time.Second))
			return nil
		}
	}
	for _, runners := range r.options.fleets {
		for _, n := range db.coordinators {
			c := cell{Store: db.name, Coordinators: n, Runners: runners, Size: filledSize, Filled: stock}
			if stock == 0 {
				c.Size = smallSize
			}
			if err := r.add(ctx, db, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// measureObserved measures what a coordinator's metrics and traces cost, side by side and twice.
func (r *results) measureObserved(ctx context.Context, db database) error {
	for range 2 {
		for _, observed := range []string{observedNothing, observedMetrics, observedTraces} {
			r.planned++
			c := cell{Store: db.name, Coordinators: 1, Runners: observedRunners, Size: smallSize, Observed: observed}
			if err := r.add(ctx, db, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// add measures a cell if there is time left.
func (r *results) add(ctx context.Context, db database, c cell) (err error) {
	// Connecting ten thousand runners takes as long as measuring them.
	if time.Until(r.until) < 3*measured {
		return nil
	}
	url, err := db.of(ctx, c.Filled)
	if err != nil {
		return err
	}
	if !db.volatile() {
		if c.Stored, err = fill(ctx, url, c.Filled); err != nil {
			return fmt.Errorf("fill %s: %w", db.name, err)
		}
	}
	if err := c.measure(ctx, url, r.options); err != nil {
		return fmt.Errorf("measure %d runners on %s: %w", c.Runners, db.name, err)
	}
	bench.Note("%s × %d, %d runners, campaigns of %d, %d stored%s: %.0f a second, p50 %v, p99 %v, a call %v of the coordinator, "+
		"%v of the runner, %.2f processors elsewhere", c.Store, c.Coordinators, c.Runners, c.Size, c.Stored,
		prefixed(", observed: ", c.Observed)+prefixed(", guarded by: ", c.Guarded)+prefixed(", ", c.kind()),
		c.PerSecond, c.P50, c.P99, c.CPU, c.RunnersCPU, c.Elsewhere)
	r.Cells = append(r.Cells, c)
	return nil
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

func (c *cell) measure(ctx context.Context, url string, o options) (err error) {
	var coordinators []*process
	defer func() {
		for _, p := range coordinators {
			err = errors.Join(err, p.stop())
		}
	}()
	s := settings{Runners: c.Runners, Size: c.Size, Traced: c.Observed == observedTraces, Trials: c.Trials, Slots: c.Slots}
	if c.Size == filledSize {
		s.Size = 0 // there is enough to do
	}
	if c.Guarded == guardedByAll {
		if s.Authority, s.AuthorityKey, err = fleet.NewAuthority(); err != nil {
			return err
		}
	}
	spans := &sink{}
	if s.Traced {
		stop, err := spans.serve()
		if err != nil {
			return err
		}
		defer stop()
	}
	for i := range c.Coordinators {
		own := settings{
			Store: url, Observed: c.Observed, Spans: spans.address, Profile: c.profile(o.profiles, i), Guarded: c.Guarded,
			Authority: s.Authority, AuthorityKey: s.AuthorityKey,
		}
		run := func() (*process, error) { return start(ctx, roleCoordinator, own) }
		if c.Before {
			run = func() (*process, error) { return startProgram(ctx, o.before, roleCoordinator, own) }
		}
		p, err := run()
		if err != nil {
			return err
		}
		coordinators = append(coordinators, p)
		s.Token = p.answer.Token
		s.Addresses, s.Certificates = append(s.Addresses, p.answer.Address), append(s.Certificates, p.answer.Certificate...)
	}
	empty, err := marks(coordinators)
	if err != nil {
		return err
	}
	workers, err := start(ctx, roleRunners, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, workers.stop()) }()
	if err := connected(ctx, workers, c.Runners); err != nil {
		return err
	}
	before, err := marks(coordinators)
	if err != nil {
		return err
	}
	runners, err := workers.mark()
	if err != nil {
		return err
	}
	begin, worked := time.Now(), busy()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(measured):
	}
	u, err := workers.mark()
	if err != nil {
		return err
	}
	took := time.Since(begin)
	worked = busy() - worked
	after, err := marks(coordinators)
	if err != nil {
		return err
	}
	if u.Results == 0 {
		return errors.New("no result was acknowledged")
	}
	if s.Traced && spans.count() == 0 {
		return errors.New("no span was exported")
	}
	c.PerSecond, c.P50, c.P99, c.Failed, c.Idle = float64(u.Results)/took.Seconds(), u.P50, u.P99, u.Failed, u.Idle
	c.CPU, c.RunnersCPU = (after.CPU-before.CPU)/time.Duration(u.Results), (u.CPU-runners.CPU)/time.Duration(u.Results)
	c.Elsewhere = (worked - (after.CPU - before.CPU) - (u.CPU - runners.CPU)).Seconds() / took.Seconds()
	c.Memory = (float64(after.Resident) - float64(empty.Resident)) / float64(c.Runners)
	return nil
}

// profile returns the file for the processor profile of a coordinator, empty for none.
func (c *cell) profile(dir string, i int) string {
	if dir == "" {
		return ""
	}
	name := fmt.Sprintf("%s-%d-runners-%d-stored-%d-%d%s.pprof", c.Store, c.Runners, c.Stored, c.Coordinators, i,
		prefixed("-", c.Observed)+prefixed("-", c.Guarded)+prefixed("-", c.kind()))
	return filepath.Join(dir, name)
}

// marks returns the sum of what the processes used.
func marks(all []*process) (sum usage, err error) {
	for _, p := range all {
		u, err := p.mark()
		if err != nil {
			return sum, err
		}
		sum.CPU += u.CPU
		sum.Resident += u.Resident
	}
	return sum, nil
}

// connected waits until all runners have had an answer.
func connected(ctx context.Context, fleet *process, runners int) error {
	const patience = 2 * time.Minute
	for begin := time.Now(); ; {
		u, err := fleet.mark()
		if err != nil || u.Connected == int64(runners) {
			return err
		}
		if time.Since(begin) > patience {
			return fmt.Errorf("%d of %d runners have no answer after %v", int64(runners)-u.Connected, runners, patience)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
