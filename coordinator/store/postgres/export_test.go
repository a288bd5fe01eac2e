package postgres

import (
	"context"
	"time"
)

// Assume makes the store take every commit in doubt for one that was made, or for one that was not, in place of looking.
func (s *Store) Assume(committed bool) {
	s.committed = func(context.Context, *transaction, int64) (bool, error) { return committed, nil }
}

// SetViewPatience changes how long a View waits for a server that is away, until restore is called.
func SetViewPatience(d time.Duration) (restore func()) {
	before := viewPatience
	viewPatience = d
	return func() { viewPatience = before }
}
