package coordinator

import (
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"misstep/coordinator/plausible"
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
	// logged bounds how often the log says that a limit of its owner holds a runner back.
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

// mayHold returns how many leases a runner that calls may hold by the limits of its owner, and which of them makes them fewer than
// its slots; empty if none does. Nobody gets more by calling under another id.
func (s *Server) mayHold(runner reporter, now time.Time) (n uint64, heldBack string) {
	n = math.MaxUint64
	if !runner.known() {
		return n, ""
	}
	short, most := s.config.Unclaimed.Short(runner.owner, plausible.MostEvidence), uint64(s.config.OwnerSlots)
	switch {
	case short != nil:
		n = 0
	case most != 0:
		n = s.ownerSlots.begins(runner, most, now, s.config.LeaseTime)
	}
	if n >= uint64(runner.GetSlots()) {
		return n, ""
	}
	if short != nil {
		heldBack = short.String()
	} else {
		heldBack = fmt.Sprintf("the runners of %s may hold %d trials at once (misstep coordinator --owner-slots), which leaves %d "+
			"for the %d slots of this one until others end or are silent for %v: stop some, or raise the limit",
			runner.owner, most, n, runner.GetSlots(), s.config.LeaseTime)
	}
	s.ownerSlots.logged.Do(func() {
		s.config.Logger.Warn("a runner is held back by a limit of its owner", "owner", runner.owner, "runner", runner.GetId(),
			"why", heldBack)
	})
	return n, heldBack
}

// holds notes how many leases a runner has after a call, and how many slots it said were free.
func (s *Server) holds(runner reporter, leases int, free uint32, now time.Time) {
	if s.config.OwnerSlots != 0 && runner.known() {
		s.ownerSlots.ends(runner, leases, free, now)
	}
}
