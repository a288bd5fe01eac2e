package batch

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
