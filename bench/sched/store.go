package main

import (
	"math"

	"misstep/bench"
)

// Kinds of entries.
const (
	kindCell      = "cell"
	kindAgain     = "again"     // a cell in one of several boots of the same machine
	kindRecording = "recording" // one replay of a recorded machine
	kindLog       = "log4"      // measured with the constants of replay.go: when they change, the kind must change, too
	kindOverhead  = "overhead"
	// The same for the programs of workloads/libraries.
	kindLibraryAgain     = "library again"
	kindLibraryRecording = "library recording"
	kindBundle           = "bundle" // of one of them
)

// entry is one line of the store.
type entry struct {
	Kind        string    `json:"kind"`
	Fingerprint string    `json:"fingerprint"`
	Result      *result   `json:"result,omitempty"`
	Boot        int       `json:"boot,omitempty"` // of the same machine, from 1
	Same        bool      `json:"same,omitempty"` // the replay matched its recording
	Log         *logTrial `json:"log,omitempty"`
	Overhead    *load     `json:"overhead,omitempty"`
	Bundle      *bundled  `json:"bundle,omitempty"`
}

// store holds the measurements.
type store struct{ *bench.Store[entry] }

// result returns the stored result of a cell with the current scheduler, race and kernel.
func (s *store) result(l *lab, c cell) (result, bool) {
	for _, e := range s.Entries {
		if e.Kind == kindCell && e.Result.cell == c && e.Fingerprint == l.fingerprint(c) {
			return *e.Result, true
		}
	}
	return result{}, false
}

// of lists the entries of a kind with the given fingerprint.
func (s *store) of(kind, fingerprint string) (all []entry) {
	for _, e := range s.Entries {
		if e.Kind == kind && e.Fingerprint == fingerprint {
			all = append(all, e)
		}
	}
	return all
}

// repeated counts the boots of a machine in which a race showed its bug, those whose run of it was the same as the first one's, to
// the nanosecond, and all of them.
func (s *store) repeated(m repetition, race string) (shown, same, boots int) {
	var first *result
	for _, e := range s.of(m.again, m.fingerprint) {
		if e.Result.Race != race {
			continue
		}
		boots++
		if first == nil {
			first = e.Result
		}
		if e.Result.Found {
			shown++
		}
		if e.Result.Found == first.Found && e.Result.Ran == first.Ran && e.Result.Took == first.Took {
			same++
		}
	}
	return shown, same, boots
}

// identical counts the replays of a machine's recording that went as it did; NaN without any.
func (s *store) identical(m repetition) float64 {
	replays := s.of(m.recording, m.fingerprint)
	if len(replays) == 0 {
		return math.NaN()
	}
	n := 0
	for _, e := range replays {
		if e.Same {
			n++
		}
	}
	return float64(n)
}
