package accounts

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"misstep/coordinator/access"
	"misstep/coordinator/store"
	"misstep/internal/buckets"
)

// Nobody guesses a token (a secret has 256 bits), but each that is looked up costs the store. So an address has only so many bad
// credentials, and then tokens whose id did not exist a few seconds ago are refused without looking. Whatever can be good is looked
// at however many bad ones came from its address, so nobody behind the same router is locked out by them; a token that was made
// just now waits for those seconds. Identity tokens are verified without the store, see sparing.
const (
	badBurst = 30
	badEvery = time.Second // one more, after that

	// unreadClass counts what was refused unread, see Config.Limited.
	unreadClass = "credential"
)

// attempts counts the bad credentials of each address. The zero value is ready; it is safe for concurrent use.
type attempts struct {
	buckets.Buckets[string]

	mu sync.Mutex
	// ids of all tokens as they were at a time, read when they are needed; guarded by mu.
	ids   map[string]bool
	idsAt time.Time
}

// of returns the bucket of an address, see access.Place; nil inside one process.
func (a *attempts) of(place string, now time.Time) *rate.Limiter {
	if place == "" {
		return nil
	}
	return a.Of(place, now, rate.Every(badEvery), badBurst)
}

// wait returns after which time the address may show another credential that is read whatever it is; 0 is now.
func (a *attempts) wait(place string, now time.Time) time.Duration {
	r := a.of(place, now)
	if r == nil {
		return 0
	}
	missing := 1 - r.TokensAt(now)
	return time.Duration(max(0, missing) * float64(badEvery))
}

// failed counts a bad credential.
func (a *attempts) failed(place string, now time.Time) {
	if r := a.of(place, now); r != nil {
		r.AllowN(now, 1)
	}
}

// unread is the answer to a token that cannot be good and comes from where many bad ones came from.
func (s *Service) unread(place string, wait time.Duration) error {
	s.limited()
	return access.ComeBack(wait, "too many bad credentials came from %s, and this token is not known: come back in %v", place,
		wait.Round(time.Millisecond))
}

// limited counts a call that was refused although its credential may be good.
func (s *Service) limited() {
	if s.config.Limited != nil {
		s.config.Limited(unreadClass)
	}
}

// exists reports whether there was a token with an id at most a few seconds ago.
func (s *Service) exists(ctx context.Context, id string) (bool, error) {
	now := s.config.Clock()
	s.attempts.mu.Lock()
	defer s.attempts.mu.Unlock() // one reading is enough for all who wait
	if !fresh(s.attempts.idsAt, now) {
		ids := map[string]bool{}
		err := s.config.Store.View(ctx, func(tx store.Tx) error {
			all, err := tx.Tokens()
			for _, t := range all {
				ids[t.Proto.GetId()] = true
			}
			return err
		})
		if err != nil {
			return false, err
		}
		s.attempts.ids, s.attempts.idsAt = ids, now
	}
	return s.attempts.ids[id], nil
}
