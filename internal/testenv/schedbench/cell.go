package main

import (
	"fmt"
	"regexp"
	"strconv"
)

// scxChaos is the strategy of a cell that runs under the other project's scheduler instead of ours.
const scxChaos = "scx_chaos"

// cell is one measurement: one race under one strategy with one seed.
type cell struct {
	Race     string `json:"race"`
	Strategy string `json:"strategy"`
	Seed     uint64 `json:"seed"`
	// Iterations and Seconds (of the guest's clock) after which the race gives up: the cell is censored there.
	Iterations int `json:"iterations"`
	Seconds    int `json:"seconds"`
	// Parameters of the strategy that differ from the defaults.
	Parameters map[string]float64 `json:"parameters,omitempty"`
}

// result of a cell.
type result struct {
	cell
	// Found when the bug has shown.
	Found bool `json:"found"`
	// Ran is the number of iterations, the buggy one included.
	Ran int `json:"ran"`
	// Took is the time of the guest's clock that they took, without the waiting for what hangs.
	Took float64 `json:"took"`
	// Applied counts what was done to the race's threads; nil under another's scheduler.
	Applied map[string]uint64 `json:"applied,omitempty"`
	// Trouble says why there is no result.
	Trouble string `json:"trouble,omitempty"`
}

var (
	bugLine  = regexp.MustCompile(`(?m)^bug at iteration (\d+): .*\((-?[0-9.]+) s\)$`)
	noneLine = regexp.MustCompile(`(?m)^no bug in (\d+) iterations \(([0-9.]+) s\)$`)
)

// judge reads what a race has said.
func (r *result) judge(output string) {
	m := bugLine.FindStringSubmatch(output)
	if m != nil {
		r.Found = true
	} else if m = noneLine.FindStringSubmatch(output); m == nil {
		r.Trouble = fmt.Sprintf("the race says neither that the bug has shown nor that it has not: %.300q", output)
		return
	}
	r.Ran, _ = strconv.Atoi(m[1])
	r.Took, _ = strconv.ParseFloat(m[2], 64)
	if r.Found {
		r.Ran++ // they are counted from 0
	}
}
