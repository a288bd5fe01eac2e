package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"misstep/bench"
	"misstep/internal/testenv/pgtest"
)

// cell is one measurement.
type cell struct {
	Store        string
	Coordinators int
	Runners      int
	// Size of each campaign in trials, and results that the store held before.
	Size, Stored uint64
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
}

// results are what was measured.
type results struct {
	Cells   []cell
	Bare    map[string]float64 // results a second by store
	planned int
}

// database is a kind of store that is measured.
type database struct {
	name string
	// url names an empty store, bare another one.
	url, bare    string
	coordinators int
}

// databases makes the stores; the caller calls remove.
func databases(ctx context.Context, dir string) (all []database, remove func(), err error) {
	all = []database{
		{name: "sqlite", url: filepath.Join(dir, "store"), bare: filepath.Join(dir, "bare"), coordinators: 1},
		{name: "memory", url: "memory:", bare: "memory:", coordinators: 1},
	}
	if _, err := pgtest.Binaries(); err != nil {
		bench.Note("PostgreSQL is not measured: %v", err)
		return all, func() {}, nil
	}
	// As durable as one in use, and with more memory than its defaults.
	server, err := pgtest.New("shared_buffers=1GB", "max_wal_size=8GB")
	if err != nil {
		return nil, nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	for _, n := range []int{1, 2} {
		url, err1 := server.Create(ctx, fmt.Sprintf("fleet%d", n))
		bare, err2 := server.Create(ctx, fmt.Sprintf("bare%d", n))
		if err := errors.Join(err1, err2); err != nil {
			server.Remove()
			return nil, nil, fmt.Errorf("make a database: %w", err)
		}
		all = append(all, database{name: "postgres", url: url, bare: bare, coordinators: n})
	}
	return all, server.Remove, nil
}

// measure measures cell after cell until the time is over.
func (r *results) measure(ctx context.Context, dir string, until time.Time) error {
	all, remove, err := databases(ctx, dir)
	if err != nil {
		return err
	}
	defer remove()
	r.planned, r.Bare = len(all)*len(fleets)*len(sizes), map[string]float64{}
	for _, db := range all {
		if r.Bare[db.name] > 0 {
			continue
		}
		rate, err := bare(ctx, db)
		if err != nil {
			return fmt.Errorf("bare inserts into %s: %w", db.name, err)
		}
		r.Bare[db.name] = rate
		bench.Note("%s: %.0f bare inserts a second", db.name, rate)
	}
	// The largest campaigns first: they matter most when the budget is short.
	for i := range sizes {
		for _, runners := range fleets {
			for _, db := range all {
				// Connecting ten thousand runners takes as long as measuring them.
				if time.Until(until) < 3*measured {
					return nil
				}
				c := cell{Store: db.name, Coordinators: db.coordinators, Runners: runners, Size: sizes[len(sizes)-1-i]}
				if db.name != "memory" {
					for _, earlier := range r.Cells {
						if earlier.Store == db.name && earlier.Coordinators == db.coordinators {
							c.Stored += uint64(earlier.PerSecond * measured.Seconds())
						}
					}
				}
				if err := c.measure(ctx, db); err != nil {
					return fmt.Errorf("measure %d runners on %s: %w", runners, db.name, err)
				}
				bench.Note("%s × %d, %d runners, campaigns of %d: %.0f a second, p50 %v, p99 %v, a call %v of the coordinator, "+
					"%v of the runner", c.Store, c.Coordinators, c.Runners, c.Size, c.PerSecond, c.P50, c.P99, c.CPU, c.RunnersCPU)
				r.Cells = append(r.Cells, c)
			}
		}
	}
	return nil
}

func (c *cell) measure(ctx context.Context, db database) (err error) {
	var coordinators []*process
	defer func() {
		for _, p := range coordinators {
			err = errors.Join(err, p.stop())
		}
	}()
	s := settings{Runners: c.Runners, Size: c.Size}
	for range c.Coordinators {
		p, err := start(ctx, roleCoordinator, settings{Store: db.url})
		if err != nil {
			return err
		}
		coordinators = append(coordinators, p)
		s.Addresses, s.Certificates = append(s.Addresses, p.answer.Address), append(s.Certificates, p.answer.Certificate...)
	}
	empty, err := marks(coordinators)
	if err != nil {
		return err
	}
	fleet, err := start(ctx, roleRunners, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fleet.stop()) }()
	if err := connected(ctx, fleet, c.Runners); err != nil {
		return err
	}
	before, err := marks(coordinators)
	if err != nil {
		return err
	}
	runners, err := fleet.mark()
	if err != nil {
		return err
	}
	begin := time.Now()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(measured):
	}
	u, err := fleet.mark()
	if err != nil {
		return err
	}
	took := time.Since(begin)
	after, err := marks(coordinators)
	if err != nil {
		return err
	}
	if u.Results == 0 {
		return errors.New("no result was acknowledged")
	}
	c.PerSecond, c.P50, c.P99, c.Failed, c.Idle = float64(u.Results)/took.Seconds(), u.P50, u.P99, u.Failed, u.Idle
	c.CPU, c.RunnersCPU = (after.CPU-before.CPU)/time.Duration(u.Results), (u.CPU-runners.CPU)/time.Duration(u.Results)
	c.Memory = (float64(after.Resident) - float64(empty.Resident)) / float64(c.Runners)
	return nil
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
