// Package limits bounds how often each caller calls a coordinator. A call too many is refused before anything was done, with the
// time after which it may be repeated, and this package's other half repeats it then. Only callers who said who they are have
// limits: without authentication, one cannot be told from the other.
package limits

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"misstep/coordinator/access"
	"misstep/internal/buckets"
)

// Default are the calls a second that a caller may make from one host, by class; four times as many at once after a pause.
var Default = map[string]float64{"lease": 100, "blob": 200, "read": 50, "change": 10}

// classOf returns the class of a call by its full name, such as "/misstep.v1.AdminService/GetFinding". A change is what the proto
// wants in the audit log, and what is not known; it has the lowest limit.
func classOf(method string) string {
	service, _, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	switch service {
	case "misstep.v1.LeaseService":
		return "lease"
	case "misstep.v1.CorpusService":
		return "blob"
	}
	if m := access.MethodOf(method); len(m.Roles) > 0 && !m.Audited {
		return "read"
	}
	return "change"
}

// Rates returns the default ones with others in place of some; 0 is no limit.
func Rates(given map[string]float64) (map[string]float64, error) {
	all := maps.Clone(Default)
	for class, r := range given {
		if _, known := all[class]; !known || r < 0 || r > 1e9 {
			return nil, fmt.Errorf("%s=%v: expected CLASS=CALLS with calls a second, at least 0, for a class of %s", class, r,
				strings.Join(slices.Sorted(maps.Keys(all)), ", "))
		}
		all[class] = r
	}
	return all, nil
}

// maxWait is how long a stream waits for its turn; it is refused if that would be longer.
const maxWait = 5 * time.Second

// Limiter counts calls. It is safe for concurrent use.
type Limiter struct {
	rates   map[string]float64
	limited func(class string)
	clock   func() time.Time

	kept buckets.Buckets[key]
}

type key struct{ caller, host, class string }

// New returns a limiter for rates by class; limited is called for each call that is refused or has to wait.
func New(rates map[string]float64, limited func(class string)) *Limiter {
	return &Limiter{rates: rates, limited: limited, clock: time.Now}
}

// ServerOptions make a server keep the limits; they come after those that authenticate callers.
func (l *Limiter) ServerOptions() []grpc.ServerOption {
	unary := func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		if err := l.admit(ctx, info.FullMethod, 0); err != nil {
			return nil, err
		}
		return handle(ctx, request)
	}
	// A stream waits: its client has begun to send, and could not simply call again.
	stream := func(server any, s grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		if err := l.admit(s.Context(), info.FullMethod, maxWait); err != nil {
			return err
		}
		return handle(server, s)
	}
	return []grpc.ServerOption{grpc.ChainUnaryInterceptor(unary), grpc.ChainStreamInterceptor(stream)}
}

// admit returns nil when a call may be made now, or after a wait of at most that.
func (l *Limiter) admit(ctx context.Context, method string, wait time.Duration) error {
	c, class := access.From(ctx), classOf(method)
	if l.rates[class] == 0 || c.Kind == access.Local || strings.HasPrefix(method, "/grpc.health.v1.Health/") {
		return nil
	}
	host, _, _ := net.SplitHostPort(c.Address)
	now := l.clock()
	k := key{access.PersonOf(c.Name), host, class}
	turn := l.kept.Of(k, now, rate.Limit(l.rates[class]), max(1, int(4*l.rates[class]))).ReserveN(now, 1)
	delay := turn.DelayFrom(now)
	if delay == 0 {
		return nil
	}
	l.limited(class)
	if delay > wait {
		turn.CancelAt(now)
		call := method[strings.LastIndexByte(method, '/')+1:]
		return access.ComeBack(delay, "%s calls %s too often, more than %v calls a second of class %s: come back in %v",
			c.Name, call, l.rates[class], class, delay.Round(time.Millisecond))
	}
	return pause(ctx, delay)
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	case <-timer.C:
		return nil
	}
}
