package coordinator

import (
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// ownerSlots shares out how many trials the runners of one owner may hold. A runner keeps what it was given for as long as it
// calls; one that is silent for a lease time holds nothing. It is kept in memory, for the runners that call this coordinator.
type ownerSlots struct {
	mu sync.Mutex
	// runners by holder of leases.
	runners map[string]given
	// sum of what they were given, by owner.
	sum   map[string]uint64
	swept time.Time
	// logged bounds how often the log says that somebody has reached the limit.
	logged rate.Sometimes
}

// given is how many leases a runner may hold.
type given struct {
	owner string
	n     uint64
	at    time.Time
}

// begins gives a runner as many as it has slots, if so many are left of the most that its owner may have, before it gets a lease:
// so calls at the same time see each other. It leaves what it gave before.
func (o *ownerSlots) begins(runner reporter, most uint64, now time.Time, period time.Duration) (n uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.runners == nil {
		o.runners, o.sum = map[string]given{}, map[string]uint64{}
	}
	if now.Sub(o.swept) > period {
		o.swept = now
		for holder, r := range o.runners {
			if now.Sub(r.at) > period {
				o.set(holder, given{owner: r.owner})
			}
		}
	}
	before := o.runners[runner.holder()].n
	beside := o.sum[runner.owner] - before
	n = max(before, min(uint64(runner.GetSlots()), most-min(most, beside)))
	o.set(runner.holder(), given{runner.owner, n, now})
	return n
}

// ends takes back what a runner cannot use after a call, by which it has some leases and said how many slots were free: one that
// goes has none.
func (o *ownerSlots) ends(runner reporter, leases int, free uint32, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := min(o.runners[runner.holder()].n, uint64(leases)+uint64(free))
	o.set(runner.holder(), given{runner.owner, max(n, uint64(leases)), now})
}

// set replaces what a runner was given; with 0 it is forgotten. The caller holds o.mu.
func (o *ownerSlots) set(holder string, g given) {
	o.sum[g.owner] += g.n - o.runners[holder].n // wraps around and back
	o.runners[holder] = g
	if g.n == 0 {
		delete(o.runners, holder)
	}
	if o.sum[g.owner] == 0 {
		delete(o.sum, g.owner)
	}
}

// mayHold returns how many leases a runner that calls may hold. Nobody gets more by calling under another id.
func (s *Server) mayHold(runner reporter, now time.Time) uint64 {
	most := uint64(s.config.OwnerSlots)
	if most == 0 || !runner.known() {
		return math.MaxUint64
	}
	n := s.ownerSlots.begins(runner, most, now, s.config.LeaseTime)
	if n < uint64(runner.GetSlots()) {
		s.ownerSlots.logged.Do(func() {
			s.config.Logger.Warn("a runner has more slots than are left for its owner: raise --owner-slots if it may use them",
				"owner", runner.owner, "runner", runner.GetId(), "slots", runner.GetSlots(), "left", n, "most", most)
		})
	}
	return n
}

// holds notes how many leases a runner has after a call, and how many slots it said were free.
func (s *Server) holds(runner reporter, leases int, free uint32, now time.Time) {
	if s.config.OwnerSlots != 0 && runner.known() {
		s.ownerSlots.ends(runner, leases, free, now)
	}
}
