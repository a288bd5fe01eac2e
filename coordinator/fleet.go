package coordinator

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// coordinatorsState is the name under which the store keeps Coordinators.
const coordinatorsState = "coordinators"

// Coordinators on a shared store tell each other of their runners this often in each lease time. Telling half as often counts as
// being away.
const tellsPerLeaseTime = 8

func coordinators(tx store.Tx) (*misstepv1.Coordinators, error) {
	raw, err := tx.WorkerState(coordinatorsState)
	if err != nil {
		return nil, err
	}
	c := &misstepv1.Coordinators{}
	if err := proto.Unmarshal(raw, c); err != nil {
		return nil, fmt.Errorf("read which coordinators there are: %w", err)
	}
	return c, nil
}

// recover extends the leases after a time in which nobody served them: runners could not renew what they hold. It does nothing when
// another coordinator was there; runners that lost theirs have called it.
func (s *Server) recover(tx store.Tx, now time.Time) error {
	if err := errors.Join(s.trust.load(tx), s.trust.loadPairs(tx), s.quotas.load(tx), s.drained.load(tx)); err != nil {
		return err
	}
	if s.config.Shared {
		all, err := coordinators(tx)
		if err != nil {
			return err
		}
		for id, c := range all.GetById() {
			if id != s.id && now.Sub(c.GetAt().AsTime()) <= 2*s.tellInterval() {
				return nil
			}
		}
	}
	if err := s.queue.Recover(tx, now); err != nil {
		return fmt.Errorf("take over the leases that nobody served: %w", err)
	}
	return nil
}

// wasAway reports whether the store, or this whole process, was away for so long that leases may have ended that their runners
// could not renew: the call itself waited, or no tick came through.
func (s *Server) wasAway(called, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	limit := s.config.LeaseTime / 4
	return now.Sub(called) > limit || s.ticking && !s.served.IsZero() && now.Sub(s.served) > max(limit, 5*tickInterval)
}

func (s *Server) setTicking(to bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ticking = to
}

func (s *Server) tellInterval() time.Duration { return s.config.LeaseTime / tellsPerLeaseTime }

// mayTell reports whether it is time to tell the others, and notes that it is done.
func (s *Server) mayTell() bool {
	if !s.config.Shared {
		return false
	}
	now := s.config.Clock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.told) < s.tellInterval() {
		return false
	}
	s.told = now
	return true
}

// tell stores which runners call this coordinator and returns what all coordinators stored that were there within the lease time.
func (s *Server) tell(tx store.Tx, now time.Time) (*misstepv1.Coordinators, error) {
	all, err := coordinators(tx)
	if err != nil {
		return nil, err
	}
	for id, c := range all.GetById() {
		if now.Sub(c.GetAt().AsTime()) > s.config.LeaseTime {
			delete(all.ById, id)
		}
	}
	if all.ById == nil {
		all.ById = map[string]*misstepv1.CoordinatorState{}
	}
	all.ById[s.id] = &misstepv1.CoordinatorState{At: timestamppb.New(now), Runners: s.live.own(now, s.config.LeaseTime)}
	raw, err := proto.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("write which coordinators there are: %w", err)
	}
	return all, tx.PutWorkerState(coordinatorsState, raw)
}
