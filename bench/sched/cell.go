package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"misstep/workloads/races"
)

// The strategies of cells that run under the other project's scheduler instead of Misstep's; scxFlags tells them apart.
const (
	scxChaos = "scx_chaos"
	scxSlow  = "scx_chaos_slow"
)

// The races whose windows are instructions, in C and in Java.
var racesC, racesJava = names(races.Instant, false), names(races.Instant, true)

// The periodic races, in the same order.
var periodicC, periodicJava = names(races.Periodic, false), names(races.Periodic, true)

// names returns those of the races in Java, or of those in C.
func names(all []races.Race, java bool) (out []string) {
	for _, r := range all {
		if r.Java() == java {
			out = append(out, r.Name)
		}
	}
	return out
}

// mainStrategies are the strategies that the goals compare.
var mainStrategies = []string{"chaos", "none", scxChaos}

// periodicStrategies are those that are compared on periodic races.
var periodicStrategies = append(slices.Clone(mainStrategies), scxSlow)

const (
	// seeds is the number of seeds of each race and strategy. The strategy was tuned on other seeds.
	seeds     = 10
	firstSeed = 1001
	// A race gives up after so many iterations or seconds of the guest's clock; the cell is censored there.
	cellIterations = 5000
	cellSeconds    = 1
	// Iterations of periodic races are a thousand times as long.
	periodicSeconds = 5
)

// cell is one measurement: one race under one strategy with one seed.
type cell struct {
	Race       string `json:"race"`
	Strategy   string `json:"strategy"`
	Seed       uint64 `json:"seed"`
	Iterations int    `json:"iterations"`
	Seconds    int    `json:"seconds"`
}

func (c cell) isJava() bool {
	return c.isLibrary() || c.isJcstress() || races.Race{Name: c.Race}.Java()
}

// cellsOf lists the cells of the races of instants under some strategies.
func cellsOf(strategies []string) []cell { return cellsFor(racesC, racesJava, cellSeconds, strategies) }

// periodicCells lists those of the periodic races.
func periodicCells(strategies []string) []cell {
	return cellsFor(periodicC, periodicJava, periodicSeconds, strategies)
}

// allCells lists both.
func allCells(strategies []string) []cell {
	return slices.Concat(cellsOf(strategies), periodicCells(strategies))
}

// cellsFor lists cells in order of importance: all races with one seed, then with the next.
func cellsFor(c, java []string, limit int, strategies []string) (all []cell) {
	for _, these := range [][]string{c, java} {
		for seed := range uint64(seeds) {
			for _, strategy := range strategies {
				for _, race := range these {
					all = append(all, cell{race, strategy, firstSeed + seed, cellIterations, limit})
				}
			}
		}
	}
	return all
}

// result is the result of a cell.
type result struct {
	cell
	// Found reports whether the bug was observed.
	Found bool `json:"found"`
	// Ran is the number of iterations, the buggy one included.
	Ran int `json:"ran"`
	// Took is the time of the guest's clock that they took, excluding the wait for hangs, in seconds.
	Took float64 `json:"took"`
	// What the bug did, where the program says so.
	What string `json:"what,omitempty"`
	// Applied counts what was done to the race's threads; nil under the other project's scheduler.
	Applied map[string]uint64 `json:"applied,omitempty"`
	// Places at which a replay stopped threads.
	Places []string `json:"places,omitempty"`
	// Outcomes of a fork of jcstress.
	Outcomes *outcomes `json:"outcomes,omitempty"`
	// Trouble explains why there is no result.
	Trouble string `json:"trouble,omitempty"`
}

var (
	bugLine  = regexp.MustCompile(`(?m)^bug at iteration (\d+): .*\((-?[0-9.]+) s\)$`)
	noneLine = regexp.MustCompile(`(?m)^no bug in (\d+) iterations \(([0-9.]+) s\)$`)
)

// judge parses the program's output; took is how long it ran, by the guest's clock.
func (r *result) judge(output string, took time.Duration) {
	if r.isLibrary() {
		r.judgeLibrary(output, took)
		return
	}
	if r.isJcstress() {
		r.judgeJcstress(output, took)
		return
	}
	m := bugLine.FindStringSubmatch(output)
	if m != nil {
		r.Found = true
	} else if m = noneLine.FindStringSubmatch(output); m == nil {
		r.Trouble = fmt.Sprintf("the race's output reports neither the bug nor its absence: %.300q", output)
		return
	}
	r.Ran, _ = strconv.Atoi(m[1])
	r.Took, _ = strconv.ParseFloat(m[2], 64)
	if r.Found {
		r.Ran++ // they are counted from 0
	}
}
