package schedule

import (
	"fmt"
	"io"
	"time"
)

// ReplayReport tells how far a run followed the log.
type ReplayReport struct {
	// Recorded is the number of decisions in the log; Replayed counts those taken from it, those of a round repeatedly.
	Recorded uint64 `json:"recorded"`
	Replayed uint64 `json:"replayed"`
	// Departed counts decisions that the log does not have, or has for another event; they came from the seed.
	Departed uint64 `json:"departed"`
	// Round is the first of the threads whose decisions every round takes, if rounds were requested.
	Round string `json:"round,omitempty"`
	// Stops are the places with breakpoints; Stopped counts how often threads were stopped there, Passed how often they were not.
	Stops   []StopReport `json:"stops,omitempty"`
	Stopped uint64       `json:"stopped"`
	Passed  uint64       `json:"passed"`
	// First is the first departure in time, if there was one.
	First *Departure `json:"first,omitempty"`
}

// Departure is a point where a run left the log.
type Departure struct {
	// Thread is the thread's path of creation, Comm its name.
	Thread string `json:"thread"`
	Comm   string `json:"comm"`
	// Decision is the index of that thread's decision, from 0, and Elapsed its time in the run.
	Decision uint32        `json:"decision"`
	Elapsed  time.Duration `json:"elapsed_ns"`
	// Why is the reason, for display.
	Why string `json:"why"`
}

func (r *ReplayReport) write(w io.Writer) {
	fmt.Fprintf(w, "replayed: %d decisions, of %d recorded ones; %d decisions departed from the log\n", r.Replayed, r.Recorded,
		r.Departed)
	if r.Round != "" {
		fmt.Fprintf(w, "every round took the decisions of the one that began with thread %s\n", r.Round)
	}
	if len(r.Stops) > 0 {
		fmt.Fprintf(w, "threads were stopped %d times at these places of the log and passed them %d times without a stop:\n",
			r.Stopped, r.Passed)
		WriteStops(w, r.Stops)
	}
	if r.First != nil {
		fmt.Fprintf(w, "first departure: thread %s (%s), decision %d, after %v: %s\n", r.First.Thread, r.First.Comm,
			r.First.Decision, r.First.Elapsed, r.First.Why)
	}
}
