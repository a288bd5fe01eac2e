package schedule

import (
	"fmt"
	"slices"
)

// Round is the round that a replay repeats: Threads threads, from child First on, that the thread with the path Parent created.
// It has 0 threads if there is no round.
type Round struct {
	Parent  uint64
	First   uint32
	Threads uint32
}

// LastRound returns the last round of the given number of threads, none for 0. The thread that created the most threads is taken
// for the one that works in rounds. The error wraps ErrInvalid.
func (l *Log) LastRound(threads int) (Round, error) {
	if threads == 0 {
		return Round{}, nil
	}
	var parent uint64
	var most uint32
	for _, t := range l.Threads {
		if t.Delay != 0 && t.Counter >= most { // children are counted from 0
			parent, most = t.Delay, t.Counter+1
		}
	}
	if threads < 0 || uint64(threads) > uint64(most) {
		return Round{}, fmt.Errorf("%w: a round of %d threads: expected the number of threads that the program creates in each "+
			"round, from 1 to the %d that one thread has created in the log", ErrInvalid, threads, most)
	}
	return Round{parent, most - uint32(threads), uint32(threads)}, nil
}

// Recorded returns the path in the log of the thread whose decisions the thread with the given path takes, as adopt of sched.bpf.c
// computes it.
func (r Round) Recorded(names ThreadNames, path uint64) uint64 {
	var ordinals []uint64
	for t, known := names[path]; known && t.Delay != 0 && len(ordinals) < 64; t, known = names[path] {
		ordinals = append(ordinals, uint64(t.Counter))
		path = t.Delay
	}
	for _, place := range slices.Backward(ordinals) {
		if r.Threads != 0 && path == r.Parent {
			place = uint64(r.First) + (place+uint64(r.Threads-r.First%r.Threads))%uint64(r.Threads)
		}
		path = Child(path, place)
	}
	return path
}
