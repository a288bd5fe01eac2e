package postgres

import "context"

// Assume makes the store take every commit in doubt for one that was made, or for one that was not, in place of looking.
func (s *Store) Assume(committed bool) {
	s.committed = func(context.Context, *transaction, int64) (bool, error) { return committed, nil }
}
