// Package readcache keeps in memory what every list of findings is made of: the log of all trials, and the findings without their
// examples. A read adds what is new since the last one, so it costs what is new, however much is stored.
//
// It relies on two rules of package coordinator: results are only added, under ids that grow, and a finding is only written in the
// transaction that adds a trial which shows it.
package readcache

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
)

// Store is a store whose Views read from memory. Their findings have no examples (whoever needs one reads Finding(id)) and are
// shared with other Views: who changes one changes a copy. Updates pass.
type Store struct {
	store.Store

	mu sync.Mutex
	// logger has the results up to the trial with the id last, of which log is the log; guarded by mu.
	logger rates.Logger
	log    *rates.Log
	last   uint64
	// findings by id, and in the order of store.Tx.Findings; guarded by mu. What they point to is never changed.
	findings map[string]*store.Finding
	ordered  []*store.Finding
}

// New returns a store above another one, which it owns.
func New(below store.Store) *Store { return &Store{Store: below} }

// maxAttempts is how often a View is run again because another one that began later was faster.
const maxAttempts = 5

// errOlder is the error of a read in a transaction that does not see all that is kept.
var errOlder = errors.New("the transaction sees less than what is kept")

// View implements store.Store. f may run several times; only the last run counts.
func (s *Store) View(ctx context.Context, f func(store.Tx) error) error {
	for attempt := 1; ; attempt++ {
		older := false
		err := s.Store.View(ctx, func(below store.Tx) error {
			follower, ok := below.(store.Follower)
			if !ok {
				return f(below)
			}
			t := &tx{Tx: below, follower: follower, cache: s}
			err := f(t)
			older = t.older
			return err
		})
		if !older {
			return err
		}
		if attempt == maxAttempts { // as after a database was replaced by a backup
			s.mu.Lock()
			s.forget()
			s.mu.Unlock()
		}
	}
}

// tx is a View.
type tx struct {
	store.Tx
	follower store.Follower
	cache    *Store
	// log and findings are set by the first read of either.
	log      *rates.Log
	findings []*store.Finding
	older    bool
}

// Log implements store.Tx.
func (t *tx) Log() (*rates.Log, error) {
	err := t.load()
	return t.log, err
}

// Findings implements store.Tx.
func (t *tx) Findings() ([]*store.Finding, error) {
	err := t.load()
	return slices.Clone(t.findings), err
}

func (t *tx) load() (err error) {
	if t.log != nil {
		return nil
	}
	t.log, t.findings, err = t.cache.read(t.Tx, t.follower)
	t.older = errors.Is(err, errOlder)
	return err
}

// read returns the log and the findings that a transaction sees.
func (s *Store) read(below store.Tx, follower store.Follower) (*rates.Log, []*store.Finding, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.follow(below, follower); err != nil {
		if !errors.Is(err, errOlder) {
			s.forget()
		}
		return nil, nil, err
	}
	return s.log, s.ordered, nil
}

// forget lets the next read begin anew. The caller holds s.mu.
func (s *Store) forget() {
	s.logger, s.log, s.last, s.findings, s.ordered = rates.Logger{}, nil, 0, nil, nil
}

// follow adds what is new. The caller holds s.mu.
func (s *Store) follow(below store.Tx, follower store.Follower) error {
	shown := map[string]bool{}
	n := 0
	last, err := follower.Results(s.last, func(r rates.Result) error {
		n++
		for _, id := range r.Findings {
			shown[id] = true
		}
		return s.logger.Add(r)
	})
	switch {
	case err != nil:
		return err
	case last < s.last:
		return errOlder
	}
	s.last = last
	if s.log == nil || n > 0 {
		s.log = s.logger.Log()
	}
	if s.findings != nil && len(shown) == 0 {
		return nil
	}
	var fresh []*store.Finding
	if s.findings == nil {
		s.findings = map[string]*store.Finding{}
		if fresh, err = below.Findings(); err != nil {
			return err
		}
		shown = nil
	}
	for id := range shown {
		f, err := below.Finding(id)
		switch {
		case errors.Is(err, store.ErrNotFound):
			continue
		case err != nil:
			return err
		}
		fresh = append(fresh, f)
	}
	for _, f := range fresh {
		f.Proto.Example, f.Proto.ExampleRecipe = nil, nil
		s.findings[f.Proto.GetId()] = f
	}
	s.ordered = slices.SortedFunc(maps.Values(s.findings), func(a, b *store.Finding) int {
		return cmp.Or(b.Proto.GetLastSeen().AsTime().Compare(a.Proto.GetLastSeen().AsTime()),
			cmp.Compare(a.Proto.GetId(), b.Proto.GetId()))
	})
	return nil
}
