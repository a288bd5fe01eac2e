package batch

import "misstep/coordinator/store"

// Working reports whether a transaction is under way.
func (s *Store) Working() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.working && len(s.waiting) == 0
}

// Waiting returns the number of updates that wait for the next transaction.
func (s *Store) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting)
}

// Looks returns how many jobs and leases a transaction of a Store has looked at so far.
func Looks(tx store.Tx) int {
	o := tx.(*overlay)
	return o.jobs.looks + o.leases.looks
}
