package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"misstep/app/station"
	"misstep/internal/proxy"
	"misstep/internal/testenv/pgtest"
	misstepv1 "misstep/proto/misstep/v1"
)

// scene is a run of one campaign on a fleet of processes.
type scene struct {
	// dir is the folder of the run, station the one of its coordinators, log the file that all its processes write to.
	dir, station, log string
	// mark is in the environment of its processes.
	mark string
	// small says that station is a disk of its own, which may be made full.
	small bool
	// database is the server of the store; nil keeps the store in the folder station, for one coordinator.
	database *pgtest.Server
	// bucket has the blobs; nil keeps them in the folder station.
	bucket *bucket
	// calm: no faults, no proxies.
	calm   bool
	clocks clocks

	runners   int
	meanPause time.Duration
	// leastFaults are injected even if that takes longer than the time for it.
	leastFaults int
	// patience bounds the time from the last fault to the end of the campaign, and is the least that a run without faults gets.
	patience time.Duration
	// coordinator and runner return the command lines: of the i-th coordinator at an address on a store and with the blobs at a
	// location, which are the folder's own when they are empty, and of the i-th runner of the coordinators at a list of addresses.
	coordinator func(i int, store, blobs, address string) []string
	runner      func(i int, addresses string) []string
	// environment of both beside this process's own.
	environment []string
	request     *misstepv1.SubmitCampaignRequest
}

// command returns a command of this scene, which dies with this process.
func (s scene) command(line []string, secrets ...string) *exec.Cmd {
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = slices.Concat(os.Environ(), []string{markVariable + "=" + s.mark}, s.environment, secrets)
	return cmd
}

// coordinators is their number where the store is a database.
const coordinators = 2

// fleet makes the services, not yet started. addresses are the coordinators' own.
func (s scene) fleet() (f *fleet, addresses []string, err error) {
	f = &fleet{dir: s.dir, clocks: s.clocks, database: s.database, bucket: s.bucket}
	if s.small {
		f.ballast = filepath.Join(s.station, "ballast")
	}
	n, store := 1, ""
	if s.database != nil {
		n, store = coordinators, s.database.URL("postgres")
	}
	blobs, secrets := "", []string(nil)
	if s.bucket != nil {
		blobs, secrets = s.bucket.location(), s.bucket.secrets()
	}
	for i := range n {
		address, err := freeAddress()
		if err != nil {
			return nil, nil, err
		}
		addresses = append(addresses, address)
		f.coordinators = append(f.coordinators, &service{
			name: fmt.Sprint("coordinator ", i), log: s.log,
			command: func() *exec.Cmd { return s.command(s.coordinator(i, store, blobs, address), secrets...) },
		})
	}
	// Half of the runners reach a coordinator through one proxy and half through another.
	sides := [2][]string{addresses, addresses}
	if !s.calm {
		for side := range sides {
			sides[side] = nil
			for _, address := range addresses {
				p, err := proxy.Listen(address)
				if err != nil {
					return nil, nil, err
				}
				f.proxies = append(f.proxies, p)
				sides[side] = append(sides[side], p.Address())
			}
		}
	}
	for i := range s.runners {
		to := strings.Join(sides[i%2], ",")
		f.runners = append(f.runners, &service{
			name: fmt.Sprint("runner ", i), log: s.log,
			command: func() *exec.Cmd { return s.command(s.runner(i, to)) },
		})
	}
	return f, addresses, nil
}

// patience of a run with a budget.
const patience = 2 * time.Minute

// play runs the campaign, with so many trials and until a time at the latest, or with faults until that time and then to the end of
// the trials that have been made, and reads its results.
func (s scene) play(ctx context.Context, seed, trials uint64, until time.Time) (r results, f *fleet, err error) {
	f, addresses, err := s.fleet()
	if err != nil {
		return r, nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	if err := f.heal(); err != nil { // starts all
		return r, f, err
	}
	st, err := station.Dial(addresses...)
	if err != nil {
		return r, f, err
	}
	defer st.Close()
	s.request.Campaign.Budget = &misstepv1.Budget{Trials: trials}
	id, err := submit(ctx, st, s.request)
	if err != nil {
		return r, f, err
	}
	if !s.calm {
		if err := f.inject(rand.New(rand.NewPCG(seed, 1)), s.meanPause, until, s.leastFaults); err != nil {
			return r, f, err
		}
		if err := conclude(ctx, st, id); err != nil {
			return r, f, err
		}
	}
	if err := finish(ctx, st, id, max(s.patience, time.Until(until))); err != nil {
		return r, f, tooSlow(err)
	}
	r, err = read(ctx, st, id)
	return r, f, err
}

// tooSlow says of a campaign that did not end how loaded the machine was: runners are then not ready in time, as their log says.
func tooSlow(err error) error {
	load, readErr := os.ReadFile("/proc/loadavg")
	if readErr != nil {
		return err
	}
	first, _, _ := strings.Cut(string(load), " ")
	return fmt.Errorf("%w: either work was lost, or this machine is too slow for the budget (load %s on %d processors; the log "+
		"says what runners wait for): try a larger BUDGET, or again when less else runs", err, first, runtime.NumCPU())
}
