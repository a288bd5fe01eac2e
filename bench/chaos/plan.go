package main

import (
	"math/rand/v2"
	"time"
)

// kind is a kind of fault.
type kind string

// Kinds of faults.
const (
	killCoordinator  kind = "coordinator: SIGKILL"
	termCoordinator  kind = "coordinator: SIGTERM"
	stopCoordinator  kind = "coordinator: SIGSTOP"
	killRunner       kind = "runner: SIGKILL"
	termRunner       kind = "runner: SIGTERM"
	stopRunner       kind = "runner: SIGSTOP"
	massExpiry       kind = "half of the runners: SIGKILL, back after their leases"
	reconnectStorm   kind = "half of the runners: SIGKILL again and again"
	partition        kind = "network: nothing passes"
	cut              kind = "network: connections refused"
	reset            kind = "network: connections reset"
	slow             kind = "network: slow"
	killDatabase     kind = "PostgreSQL: SIGKILL"
	stopDatabase     kind = "PostgreSQL: restart"
	clockJump        kind = "clock: jump"
	clockCoordinator kind = "clock: one coordinator's"
	clockRunner      kind = "clock: one runner's"
	fullDisk         kind = "disk: full"
	killObjects      kind = "object store: SIGKILL"
	objectErrors     kind = "object store: errors"
	objectSlowDown   kind = "object store: SlowDown"
	objectReset      kind = "object store: connections reset"
	objectCut        kind = "object store: bodies cut"
	objectSlow       kind = "object store: slow"
	objectExpired    kind = "object store: signatures expired"
)

// ofClocks are the kinds that shift clocks.
var ofClocks = map[kind]bool{clockJump: true, clockCoordinator: true, clockRunner: true}

// choice is how often a kind is drawn, and how long it lasts at least and at most.
type choice struct {
	kind      kind
	weight    int
	low, high time.Duration
}

// choices are the faults. Some outlast the lease time, so that leases are lost and trials repeated.
var choices = []choice{
	{killCoordinator, 6, 0, 600 * time.Millisecond},
	{termCoordinator, 4, 0, 300 * time.Millisecond},
	{stopCoordinator, 6, 100 * time.Millisecond, 3 * time.Second},
	{killRunner, 12, 0, 500 * time.Millisecond},
	{termRunner, 6, 0, 300 * time.Millisecond},
	{stopRunner, 8, 100 * time.Millisecond, 5 * time.Second},
	{massExpiry, 3, leaseTime, 2 * leaseTime},
	{reconnectStorm, 2, leaseTime, 3 * leaseTime},
	{partition, 8, 200 * time.Millisecond, 6 * time.Second},
	{cut, 6, 100 * time.Millisecond, 2 * time.Second},
	{reset, 10, 0, 0},
	{slow, 8, 200 * time.Millisecond, 3 * time.Second},
	{killDatabase, 3, 0, 2 * time.Second},
	{stopDatabase, 2, 0, time.Second},
	{clockJump, 3, 0, 0},
	{clockCoordinator, 3, 0, 0},
	{clockRunner, 2, 0, 0},
	{fullDisk, 2, 200 * time.Millisecond, 2 * time.Second},
}

// objectChoices are those of an object store, beside the others. Some outlast what a request is repeated for.
var objectChoices = []choice{
	{killObjects, 3, 0, 3 * time.Second},
	{objectErrors, 8, 200 * time.Millisecond, 6 * time.Second},
	{objectSlowDown, 6, 200 * time.Millisecond, 6 * time.Second},
	{objectReset, 8, 200 * time.Millisecond, 3 * time.Second},
	{objectCut, 6, 200 * time.Millisecond, 3 * time.Second},
	{objectSlow, 6, 200 * time.Millisecond, 4 * time.Second},
	{objectExpired, 4, 200 * time.Millisecond, 3 * time.Second},
}

// fault is one fault of a plan.
type fault struct {
	Kind kind
	// Pause before it begins, since the last one began, and how long it Lasts.
	Pause, Lasts time.Duration
	// Target selects what it hits, by the remainder of the number of targets; Amount is in [0, 1).
	Target int
	Amount float64
}

// draw returns the next fault. meanPause is the mean of the pauses.
func draw(random *rand.Rand, choices []choice, meanPause time.Duration) fault {
	total := 0
	for _, c := range choices {
		total += c.weight
	}
	pause := min(5, random.ExpFloat64()) * float64(meanPause)
	f := fault{Pause: time.Duration(pause), Target: random.IntN(1 << 20), Amount: random.Float64()}
	at := random.IntN(total)
	for _, c := range choices {
		if at -= c.weight; at < 0 {
			f.Kind, f.Lasts = c.kind, c.low+time.Duration(random.Float64()*float64(c.high-c.low))
			break
		}
	}
	return f
}
