package web

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"misstep/coordinator/access"
	misstepv1 "misstep/proto/misstep/v1"
)

const (
	// maxKept bounds the answers that are kept, and minFresh is how long one is given to everybody who may see it.
	maxKept  = 500
	minFresh = time.Second
	// costFactor bounds the share of the time that is spent on making one answer anew: an answer that took a second is made at most
	// every ten. For as long again it is shown while a new one is made.
	costFactor = 10
)

// cache is a connection that gives answers again for a short time, so that many looks at one page cost the coordinator as much as
// one. It keeps what viewers read in a project, by the project, the caller with what they may do, and the request: some findings
// are seen by some people only. Where nobody is asked who they are, all share the answers. Other calls pass through.
type cache struct {
	grpc.ClientConnInterface
	clock func() time.Time
	kept  *lru.Cache[string, *answer]
}

// answer is one kept answer, or one that is being made for the first time.
type answer struct {
	mu      sync.Mutex
	message proto.Message // the last answer; nil before the first
	at      time.Time     // when it was asked for
	cost    time.Duration
	making  chan struct{} // closed when the call that is under way has ended; nil when none is
	err     error         // of the last call
}

func newCache(conn grpc.ClientConnInterface, clock func() time.Time) *cache {
	kept, err := lru.New[string, *answer](maxKept)
	if err != nil {
		panic(err) // of a size that is not positive
	}
	return &cache{ClientConnInterface: conn, clock: clock, kept: kept}
}

// Invoke implements grpc.ClientConnInterface.
func (c *cache) Invoke(ctx context.Context, method string, in, out any, options ...grpc.CallOption) error {
	request, ok := in.(proto.Message)
	v, visited := ctx.Value(visitKey{}).(*visit)
	if !ok || !visited || !kept(method, v) {
		if err := c.ClientConnInterface.Invoke(ctx, method, in, out, options...); err != nil {
			return err
		}
		if access.MethodOf(method).Audited { // it changed something
			c.kept.Purge()
		}
		return nil
	}
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
	if err != nil {
		return err
	}
	key := fmt.Sprintf("%s %q %v %s %s", v.project, v.caller.Name, v.caller.Grants, method, text)
	a, _ := c.kept.Get(key)
	if a == nil {
		a = &answer{}
		if before, found, _ := c.kept.PeekOrAdd(key, a); found {
			a = before
		}
	}
	message, err := a.get(ctx, c.clock, func(ctx context.Context) (proto.Message, error) {
		made := out.(proto.Message).ProtoReflect().New().Interface()
		return made, c.ClientConnInterface.Invoke(ctx, method, in, made, options...)
	})
	if err != nil {
		return err
	}
	proto.Merge(out.(proto.Message), message)
	return nil
}

// kept reports whether the answer of a call is one to keep, and whether the visitor may make the call.
func kept(method string, v *visit) bool {
	m := access.MethodOf(method)
	return m.ByProject && slices.Equal(m.Roles, []misstepv1.Role{misstepv1.Role_ROLE_VIEWER}) &&
		v.caller.May(misstepv1.Role_ROLE_VIEWER, v.project)
}

// get returns an answer that is fresh; while one is made anew, the last one, unless it is too old.
func (a *answer) get(
	ctx context.Context, clock func() time.Time, call func(context.Context) (proto.Message, error),
) (proto.Message, error) {
	a.mu.Lock()
	age := clock().Sub(a.at)
	fresh := a.message != nil && age < max(minFresh, costFactor*a.cost)
	showable := a.message != nil && age < max(minFresh, 2*costFactor*a.cost)
	if !fresh && a.making == nil {
		a.making = make(chan struct{})
		go a.make(context.WithoutCancel(ctx), clock, call)
	}
	message, making := a.message, a.making
	a.mu.Unlock()
	if showable {
		return message, nil
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-making:
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.message, a.err
}

func (a *answer) make(ctx context.Context, clock func() time.Time, call func(context.Context) (proto.Message, error)) {
	begin := clock()
	message, err := call(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err = err
	if a.message = message; err != nil {
		a.message = nil
	}
	a.at, a.cost = begin, clock().Sub(begin)
	close(a.making)
	a.making = nil
}
