package accounts

import (
	"context"
	"maps"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/coordinator/store"
)

// Nobody guesses a token (a secret has 256 bits), but each that is looked up costs the store. So an address has only so many bad
// credentials, and then tokens whose id did not exist a few seconds ago are refused without looking. Whatever can be good is looked
// at however many bad ones came from its address, so nobody behind the same router is locked out by them; a token that was made
// just now waits for those seconds. Identity tokens are verified without the store, see sparing.
const (
	badBurst  = 30
	badEvery  = time.Second // one more, after that
	maxPlaces = 10_000      // addresses that are remembered

	// unreadClass counts what was refused unread, see Config.Limited.
	unreadClass = "credential"
)

// attempts counts the bad credentials of each address. The zero value is ready; it is safe for concurrent use.
type attempts struct {
	mu     sync.Mutex
	places map[string]*rate.Limiter // guarded by mu
	// ids of all tokens as they were at a time, read when they are needed; guarded by mu.
	ids   map[string]bool
	idsAt time.Time
}

// wait returns after which time the address may show another credential that is read whatever it is; 0 is now.
func (a *attempts) wait(place string, now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.places[place]
	if r == nil {
		return 0
	}
	missing := 1 - r.TokensAt(now)
	return time.Duration(max(0, missing) * float64(badEvery))
}

// failed counts a bad credential.
func (a *attempts) failed(place string, now time.Time) {
	if place == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.places[place]
	if r == nil {
		if a.places == nil {
			a.places = map[string]*rate.Limiter{}
		}
		if len(a.places) >= maxPlaces {
			a.forget(now)
		}
		r = rate.NewLimiter(rate.Every(badEvery), badBurst)
		a.places[place] = r
	}
	r.AllowN(now, 1)
}

// forget removes addresses for which that changes nothing, and if there are few of them, others. The caller holds a.mu.
func (a *attempts) forget(now time.Time) {
	maps.DeleteFunc(a.places, func(_ string, r *rate.Limiter) bool { return r.TokensAt(now) >= badBurst })
	for p := range a.places {
		if len(a.places) <= maxPlaces*3/4 {
			return
		}
		delete(a.places, p)
	}
}

// placeOf returns whose attempts count together: an IPv4 address, or the 64 bits of an IPv6 address that one host may choose the
// rest of; empty inside one process.
func placeOf(ctx context.Context) string {
	p, ok := peer.FromContext(ctx)
	if !ok || p.Addr == nil {
		return ""
	}
	host, _, err := net.SplitHostPort(p.Addr.String())
	if err != nil {
		return ""
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if address = address.Unmap().WithZone(""); address.Is6() {
		if network, err := address.Prefix(64); err == nil {
			return network.String()
		}
	}
	return address.String()
}

// unread is the answer to a token that cannot be good and comes from where many bad ones came from.
func (s *Service) unread(place string, wait time.Duration) error {
	s.limited()
	return comeBack(wait, "too many bad credentials came from %s, and this token is not known: come back in %v", place,
		wait.Round(time.Millisecond))
}

// limited counts a call that was refused although its credential may be good.
func (s *Service) limited() {
	if s.config.Limited != nil {
		s.config.Limited(unreadClass)
	}
}

// comeBack is an answer with the time after which the call may be repeated.
func comeBack(wait time.Duration, format string, args ...any) error {
	e := status.Newf(codes.ResourceExhausted, format, args...)
	if detailed, err := e.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(wait)}); err == nil {
		e = detailed
	}
	return e.Err()
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
