package schedule

import (
	"fmt"
	"io"
	"time"
)

// ReplayReport says how far a run followed the log.
type ReplayReport struct {
	// Recorded decisions in the log, and how many were taken from it; a round's are taken again and again.
	Recorded uint64 `json:"recorded"`
	Replayed uint64 `json:"replayed"`
	// Departed counts decisions for which the log had nothing or something else; they came from the seed.
	Departed uint64 `json:"departed"`
	// Round is the first of the threads whose decisions every round takes, if that was asked for.
	Round string `json:"round,omitempty"`
	// Stops are the places at which threads were stopped by breakpoints, Stopped how often, and Passed how often a thread went on
	// there.
	Stops   []StopReport `json:"stops,omitempty"`
	Stopped uint64       `json:"stopped"`
	Passed  uint64       `json:"passed"`
	// First departure in time, if there was one.
	First *Departure `json:"first,omitempty"`
}

// Departure is a point where a run left the log.
type Departure struct {
	// Thread by its path of creation and its name.
	Thread string `json:"thread"`
	Comm   string `json:"comm"`
	// Decision of that thread, from 0, and when in the run.
	Decision uint32        `json:"decision"`
	Elapsed  time.Duration `json:"elapsed_ns"`
	// Why in words.
	Why string `json:"why"`
}

func (r *ReplayReport) write(w io.Writer) {
	fmt.Fprintf(w, "replayed: %d decisions, of %d recorded ones; %d decisions departed from the log\n", r.Replayed, r.Recorded,
		r.Departed)
	if r.Round != "" {
		fmt.Fprintf(w, "every round took the decisions of the one that began with thread %s\n", r.Round)
	}
	if len(r.Stops) > 0 {
		fmt.Fprintf(w, "threads were stopped %d times at these places of the log, and went on there %d times:\n", r.Stopped, r.Passed)
		WriteStops(w, r.Stops)
	}
	if r.First != nil {
		fmt.Fprintf(w, "first departure: thread %s (%s), decision %d, after %v: %s\n", r.First.Thread, r.First.Comm, r.First.Decision,
			r.First.Elapsed, r.First.Why)
	}
}
