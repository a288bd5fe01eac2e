package main

import (
	"context"
	"math"
	"strings"

	"misstep/bench"
)

const (
	// wantedRuns of Java programs under chaos, none of which may end with an ejection of the scheduler.
	wantedRuns = 1000
	// runRounds are few, so that most of a run is what all Java programs do: start, load classes, compile and exit.
	runRounds = 2
	// firstRunSeed is above the seeds of other cells.
	firstRunSeed = 2001
)

// runCells lists the runs of the programs of workloads/libraries, one after the other with each seed.
func runCells() (all []cell) {
	for i := range wantedRuns {
		seed, program := i/len(libraryBugs), i%len(libraryBugs)
		all = append(all, cell{
			Race: libraryBugs[program], Strategy: "chaos", Seed: firstRunSeed + uint64(seed), Iterations: runRounds,
		})
	}
	return all
}

func (l *lab) javaRuns(ctx context.Context, s *store) error {
	if !l.hasLibraries() {
		return nil
	}
	return l.cells(ctx, s, runCells())
}

// runGoals counts them and those that ended with an ejection, or otherwise without a result.
func runGoals(l *lab, s *store) []bench.Goal {
	measured := map[cell]result{}
	for _, e := range s.of(kindCell, l.fingerprint(runCells()[0])) { // the programs are in one file, and so have one digest
		measured[e.Result.cell] = *e.Result
	}
	runs, ejected, other := 0.0, 0.0, 0.0
	for _, c := range runCells() {
		r, done := measured[c]
		switch {
		case !done:
			continue
		case strings.HasPrefix(r.Trouble, ejection):
			ejected++
		case r.Trouble != "":
			other++
		}
		runs++
	}
	if runs == 0 {
		ejected, other = math.NaN(), math.NaN()
	}
	return []bench.Goal{
		{Name: "runs of Java programs under chaos", Goal: wantedRuns, Measured: runs, Unit: "runs", AtLeast: true},
		{Name: "those that ended with an ejection", Goal: 0, Measured: ejected, Unit: "runs"},
		{Name: "those without a result for another reason", Goal: 0, Measured: other, Unit: "runs"},
	}
}
