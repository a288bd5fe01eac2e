package main

import "misstep/bench"

// Kinds of entries.
const (
	kindCell      = "cell"
	kindAgain     = "again"     // a cell in one of several boots of the same machine
	kindRecording = "recording" // one replay of a recorded machine
	kindLog       = "log4"      // measured as the constants of replay.go say: a change of those is another kind
	kindOverhead  = "overhead"
)

// entry is one line of the store.
type entry struct {
	Kind        string    `json:"kind"`
	Fingerprint string    `json:"fingerprint"`
	Result      *result   `json:"result,omitempty"`
	Boot        int       `json:"boot,omitempty"` // of the same machine, from 1
	Same        bool      `json:"same,omitempty"` // a replay went as recorded
	Log         *logTrial `json:"log,omitempty"`
	Overhead    *load     `json:"overhead,omitempty"`
}

// store keeps what was measured.
type store struct{ *bench.Store[entry] }

// result of a cell with what it is measured on now.
func (s *store) result(l *lab, c cell) (result, bool) {
	for _, e := range s.Entries {
		if e.Kind == kindCell && e.Result.cell == c && e.Fingerprint == l.fingerprint(c) {
			return *e.Result, true
		}
	}
	return result{}, false
}

// of lists the entries of a kind that were measured with the scheduler as it is now.
func (s *store) of(kind, fingerprint string) (all []entry) {
	for _, e := range s.Entries {
		if e.Kind == kind && e.Fingerprint == fingerprint {
			all = append(all, e)
		}
	}
	return all
}
