package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"misstep/bench"
	"misstep/coordinator/store"
)

// stormFleets are the numbers of runners that storms hit.
var stormFleets = []int{1000, 10_000}

const (
	// stormRate is how many results a second the fleets have, about a third of what two processors take in.
	stormRate = 400
	// stormConnections bounds the connections, which runners share: both ends of one are a file each.
	stormConnections = 1000
	// stormStock are the leases of runners that are gone.
	stormStock = 100_000
	// quiet is how long a fleet is watched before a storm.
	quiet = 8 * time.Second
	// leastLength is the least that twice the length of a storm is taken for: runners wait for up to ten seconds after an error.
	leastLength = 5 * time.Second
	// slowSync is how long each fsync takes on a slow disk.
	slowSync = 100 * time.Millisecond
)

// blow is what a storm does. It returns when the storm began and ended, and for how long no result was possible.
type blow func(ctx context.Context, s *stormScene) (begin, end time.Time, outage time.Duration, err error)

// storm is a kind of storm.
type storm struct {
	name string
	blow blow
}

// storms in the order in which they hit a fleet, after expiredLeases.
var storms = []storm{
	{"mass expiry", massExpiry},
	{"reconnect", reconnect},
	{"restart of all coordinators", restartAll},
	{"slow disk", slowFor},
	{"database stopped", stopDatabase},
}

const expiredLeases = "start with expired leases"

// massExpiry lets half of the runners end silently. They are back when their leases expire.
func massExpiry(ctx context.Context, s *stormScene) (begin, end time.Time, outage time.Duration, err error) {
	begin = time.Now()
	err = errors.Join(s.crew.end(returning), s.watch(ctx, s.lease))
	return begin, time.Now(), 0, errors.Join(err, s.crew.start(returning))
}

// reconnects is how often half of the runners start anew.
const reconnects = 4

func reconnect(ctx context.Context, s *stormScene) (begin, end time.Time, outage time.Duration, err error) {
	begin = time.Now()
	for i := range reconnects {
		if i > 0 {
			err = errors.Join(err, s.watch(ctx, s.lease*5/6))
		}
		end = time.Now()
		err = errors.Join(err, s.crew.again(returning))
	}
	return begin, end, 0, err
}

func restartAll(ctx context.Context, s *stormScene) (begin, end time.Time, outage time.Duration, err error) {
	begin = time.Now()
	err = errors.Join(s.terminate(), s.serve(ctx))
	return begin, time.Now(), time.Since(begin), err
}

func slowFor(ctx context.Context, s *stormScene) (begin, end time.Time, outage time.Duration, err error) {
	if s.disk == nil {
		return begin, end, 0, errSkipped
	}
	begin = time.Now()
	s.disk.delay.Store(int64(slowSync))
	err = s.watch(ctx, s.lease)
	s.disk.delay.Store(0)
	return begin, time.Now(), 0, err
}

// stopDatabase stops the server of the store, or the disk with its file, for a lease time.
func stopDatabase(ctx context.Context, s *stormScene) (begin, end time.Time, outage time.Duration, err error) {
	begin = time.Now()
	switch {
	case s.database != nil:
		if err := s.database.Pause(); err != nil {
			return begin, end, 0, err
		}
		defer func() { end = time.Now() }()
		defer s.database.Resume()
	case s.disk != nil:
		s.disk.delay.Store(math.MaxInt64)
		defer func() { end = time.Now() }()
		defer s.disk.delay.Store(0)
	default:
		return begin, end, 0, errSkipped
	}
	return begin, end, s.lease, s.watch(ctx, s.lease)
}

// errSkipped is the error of a storm that this machine cannot make.
var errSkipped = errors.New("it cannot be made here")

// watch lets time pass and reads how the runners fare.
func (s *stormScene) watch(ctx context.Context, d time.Duration) error {
	for until := time.Now().Add(d); time.Now().Before(until); {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(time.Until(until), time.Second)):
		}
		if err := s.crew.look(); err != nil {
			return err
		}
	}
	return nil
}

// hit is what one storm did.
type hit struct {
	Store         string
	Coordinators  int
	Runners       int
	Storm         string
	LeaseSeconds  float64
	LengthSeconds float64
	Load          string
	weather
}

// fleetHit is what is known of a fleet after all storms.
type fleetHit struct {
	Store        string
	Coordinators int
	Runners      int
	audit
	// SIGTERM is the longest time from a signal to the end of a coordinator in seconds, Memory the most of one in MiB.
	SIGTERM, Memory float64
	Load            string
}

// measureStorms lets all storms hit each fleet on each store, each fleet in its share of the time.
func (r *results) measureStorms(ctx context.Context, dir string, until time.Time) error {
	disk, err := newSlowDisk()
	if err != nil {
		bench.Note("no slow disks: %v", err)
	}
	all, remove, err := databases(ctx, dir, r.options.stores)
	if err != nil {
		return err
	}
	defer remove()
	all = slices.DeleteFunc(all, database.volatile)
	fleets := stormFleets
	if r.options.narrowed {
		fleets = r.options.fleets
	}
	left := len(all) * len(fleets)
	for _, runners := range fleets {
		for _, db := range all {
			share := time.Until(until) / time.Duration(left)
			left--
			s, err := newStormScene(ctx, dir, db, runners, stormLease(share))
			if err != nil {
				return err
			}
			s.disk = disk
			bench.Note("%s, %d runners", db.name, runners)
			if err := r.storm(ctx, s, db, runners); err != nil {
				return fmt.Errorf("storms on %d runners on %s: %w", runners, db.name, err)
			}
		}
	}
	return nil
}

// stormLease is the lease time with which all storms take about as long as there is time: a minute, as a coordinator has it, or
// less. That makes them denser than they are.
func stormLease(share time.Duration) time.Duration {
	const fixed, leases = 90 * time.Second, 10
	return min(max((share-fixed)/leases, 3*time.Second), time.Minute).Round(time.Second)
}

// newStormScene makes a scene on an empty store.
func newStormScene(ctx context.Context, dir string, db database, runners int, lease time.Duration) (*stormScene, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	s := &stormScene{
		dir: filepath.Join(dir, fmt.Sprint("storms-", db.name, "-", runners)), self: self, lease: lease, quiet: quiet,
		stock: stormStock,
	}
	if err := os.RemoveAll(s.dir); err != nil {
		return nil, fmt.Errorf("empty the folder of the storms: %w", err)
	}
	if db.server != nil {
		s.database = db.server
		if s.url, err = db.server.Create(ctx, fmt.Sprint("storms", runners)); err != nil {
			return nil, fmt.Errorf("make a database: %w", err)
		}
	}
	s.settings = stormSettings{
		Runners: [groups]int{runners - runners/2, runners / 2}, Connections: min(runners, stormConnections),
		Trial: time.Duration(float64(runners*stormSlots) / stormRate * float64(time.Second)),
	}
	return s, nil
}

// storm lets all storms hit a scene.
func (r *results) storm(ctx context.Context, s *stormScene, db database, runners int) (err error) {
	coordinators := slices.Max(db.coordinators)
	if err := addExpired(ctx, s.place(), s.stock); err != nil {
		return err
	}
	hits, err := s.play(ctx, coordinators)
	for _, h := range hits {
		h.Store, h.Coordinators, h.Runners = db.name, coordinators, runners
		r.Hits = append(r.Hits, h)
	}
	if err != nil {
		return err
	}
	f := fleetHit{Store: db.name, Coordinators: coordinators, Runners: runners, Load: load()}
	for _, one := range s.servers {
		f.SIGTERM, f.Memory = max(f.SIGTERM, one.Longest.Seconds()), max(f.Memory, one.Memory)
	}
	if f.audit, err = auditStore(ctx, s.place(), s.settings.Ledger); err != nil {
		return err
	}
	bench.Note("%s × %d, %d runners: %+v", db.name, coordinators, runners, f)
	r.Fleets = append(r.Fleets, f)
	return nil
}

// play starts the fleet, lets all storms hit it one after the other, and ends it.
func (s *stormScene) play(ctx context.Context, coordinators int) (hits []hit, err error) {
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.open(ctx, coordinators); err != nil {
		return nil, err
	}
	// What nobody holds gets a lease time when the coordinator starts, and expires at its end, all at once.
	expire := time.Now().Add(s.lease)
	if err := errors.Join(s.crew.start(staying), s.crew.start(returning), s.watch(ctx, max(s.lease, 2*s.quiet))); err != nil {
		return nil, err
	}
	add := func(name string, begin, end time.Time, outage time.Duration) error {
		w, err := s.recover(ctx, begin, end, outage)
		hits = append(hits, hit{
			Storm: name, LeaseSeconds: s.lease.Seconds(), LengthSeconds: end.Sub(begin).Seconds(), Load: load(), weather: w,
		})
		bench.Note("%s, leases of %v: %s", name, s.lease, w)
		return err
	}
	if err := add(expiredLeases, expire, expire, 0); err != nil {
		return hits, err
	}
	for _, one := range storms {
		if err := s.watch(ctx, s.quiet); err != nil {
			return hits, err
		}
		begin, end, outage, err := one.blow(ctx, s)
		if errors.Is(err, errSkipped) {
			bench.Note("%s: %v", one.name, err)
			continue
		}
		if err == nil {
			err = add(one.name, begin, end, outage)
		}
		if err != nil {
			return hits, fmt.Errorf("%s: %w", one.name, err)
		}
	}
	return hits, nil
}

// place is the URL of the store.
func (s *stormScene) place() string { return cmp.Or(s.url, s.dir) }

// addExpired stores leases of runners that are gone, of a campaign that the fleet continues.
func addExpired(ctx context.Context, url string, n uint64) error {
	added := uint64(0)
	err := extend(ctx, url, func(tx store.Tx, c *store.Campaign) (more bool, err error) {
		leases, err := leasesFor(c, min(fillBatch, n-added))
		if err != nil {
			return false, err
		}
		added += uint64(len(leases))
		b, ok := tx.(store.Bulk)
		if !ok {
			return false, errors.New("expected a store that takes many rows at once")
		}
		return added < n, errors.Join(b.AddLeases(leases), tx.PutCampaign(c))
	})
	if err != nil {
		return fmt.Errorf("add expired leases: %w", err)
	}
	return nil
}
