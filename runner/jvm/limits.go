package jvm

import (
	"time"

	misstepv1 "misstep/proto/misstep/v1"
)

// Limits of a trial that its recipe leaves out; campaigns fill in the same.
const (
	// DefaultWall is the time until a JVM counts as hung.
	DefaultWall = 2 * time.Minute
	// DefaultMemory is the resident memory of the trial's processes in bytes.
	DefaultMemory = 4 << 30
	// DefaultOutput bounds what is kept of stdout and stderr each, in bytes.
	DefaultOutput = 16 << 20
	// DefaultDisk bounds the trial's folder in bytes.
	DefaultDisk = 512 << 20
	// DefaultDepth bounds the frames of a walk.
	DefaultDepth = 1024
	// DefaultMismatches bounds the mismatch records that the agent writes.
	DefaultMismatches = 1024
	// hardOutput is how many times the bound on kept output a program may print before it is stopped for it.
	hardOutput = 8
)

// DefaultShares are the shares of checks whose recipe gives none: of method entries for the first two, of signals for the
// next two, of their traces for edges; liveness is on or off. An entry check costs 2 to 40 microseconds (docs/design has the figures), an entry 3 ns: at a
// share of 0.001 the checks of a busy program cost about as much as its instrumentation.
var DefaultShares = map[string]float64{
	"gst-asgct": 0.001, "shadow-gst": 0.001, "asgct-shadow": 1, "asgct-gst-bracket": 1, "edges": 1, "liveness": 1,
}

// limits in bytes and complete.
type limits struct {
	wall                 time.Duration
	memory, output, disk uint64
	depth, mismatches    int
}

func limitsOf(l *misstepv1.Limits) limits {
	or := func(mib uint32, otherwise uint64) uint64 {
		if mib == 0 {
			return otherwise
		}
		return uint64(mib) << 20
	}
	out := limits{
		wall:   l.GetWall().AsDuration(),
		memory: or(l.GetMemoryMib(), DefaultMemory),
		output: or(l.GetOutputMib(), DefaultOutput),
		disk:   or(l.GetDiskMib(), DefaultDisk),
		depth:  int(l.GetStackDepth()), mismatches: int(l.GetMismatches()),
	}
	if out.wall <= 0 {
		out.wall = DefaultWall
	}
	if out.depth == 0 {
		out.depth = DefaultDepth
	}
	if out.mismatches == 0 {
		out.mismatches = DefaultMismatches
	}
	return out
}
