package web

import (
	"sync"
	"time"

	"misstep/coordinator/access"
)

// slots bounds what lasts: how much of it there is at a time, in all and of each caller.
type slots struct {
	what       string
	most, each int
	// comeBack is after which time it is worth another try.
	comeBack time.Duration

	mu  sync.Mutex
	all int            // guarded by mu
	of  map[string]int // by person, guarded by mu
}

// join takes a slot for a caller until leave is called.
func (s *slots) join(c *access.Caller) (leave func(), err error) {
	person := access.PersonOf(c.Name)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.of[person] >= s.each:
		return nil, access.ComeBack(s.comeBack, "%s has %d %s at a time already: end some, or come back in %v", person, s.each,
			s.what, s.comeBack)
	case s.all >= s.most:
		return nil, access.ComeBack(s.comeBack, "there are %d %s at a time already: come back in %v", s.most, s.what, s.comeBack)
	}
	if s.of == nil {
		s.of = map[string]int{}
	}
	s.all++
	s.of[person]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all--
		if s.of[person]--; s.of[person] == 0 {
			delete(s.of, person)
		}
	}, nil
}
