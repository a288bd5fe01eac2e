package main

import "misstep/bench"

// Kinds of entries.
const (
	kindCell      = "cell"
	kindAgain     = "again"     // a cell in one of several boots of the same machine
	kindRecording = "recording" // one replay of a recorded machine
	kindLog       = "log4"      // measured with the constants of replay.go: when they change, the kind must change, too
	kindOverhead  = "overhead"
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
