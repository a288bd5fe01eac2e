package web

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"misstep/coordinator/access"
	misstepv1 "misstep/proto/misstep/v1"
)

const (
	// maxKept bounds the answers that are kept, and maxBytes their bytes with those of the requests, as they are on the wire; in
	// memory they take a few times as much. minFresh is how long an answer is given to everybody who may see it.
	maxKept  = 500
	maxBytes = 32 << 20
	minFresh = time.Second
	// costFactor bounds the share of the time that is spent on making one answer anew: an answer that took half a second is made at
	// most every five. For as long again it is shown while a new one is made. maxFresh is the end of that: what took longer did so
	// since much was asked for at once, or for the first time, and that says nothing about the next one.
	costFactor = 10
	maxFresh   = 10 * time.Second
)

// cache is a connection that gives answers again for a short time, so that many looks at one page cost the coordinator as much as
// one. It keeps what viewers read in a project, by the project, what the caller may do, and the request. Some findings are seen only
// by those whom they name: these have answers of their own, and what others share is asked for without a name, so that it has
// nothing for one of them even if it comes just as they are named. Other calls pass through.
type cache struct {
	grpc.ClientConnInterface
	clock func() time.Time

	mu    sync.Mutex
	kept  *simplelru.LRU[string, *answer] // guarded by mu
	bytes int                             // of those that are kept, guarded by mu
}

// answer is one kept answer, or one that is being made for the first time.
type answer struct {
	size int // of the kept one with its request; guarded by cache.mu

	mu      sync.Mutex
	message proto.Message // the last answer; nil before the first
	at      time.Time     // when it was asked for
	cost    time.Duration
	making  chan struct{} // closed when the call that is under way has ended; nil when none is
	err     error         // of the last call
}

func newCache(conn grpc.ClientConnInterface, clock func() time.Time) *cache {
	c := &cache{ClientConnInterface: conn, clock: clock}
	kept, err := simplelru.NewLRU(maxKept, func(_ string, a *answer) { c.bytes -= a.size })
	if err != nil {
		panic(err) // of a size that is not positive
	}
	c.kept = kept
	return c
}

// find returns the answer to a request, which may have to be made.
func (c *cache) find(key string) *answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, found := c.kept.Get(key)
	if !found {
		a = &answer{}
		c.kept.Add(key, a)
		c.resize(key, a, nil)
	}
	return a
}

// resize notes what an answer takes now, if it is still kept, and forgets those that nobody wanted for longest while there is too
// much. The caller holds c.mu.
func (c *cache) resize(key string, a *answer, message proto.Message) {
	if current, found := c.kept.Peek(key); !found || current != a {
		return
	}
	c.bytes -= a.size
	a.size = len(key) + proto.Size(message)
	c.bytes += a.size
	if a.size > maxBytes { // the others stay
		c.kept.Remove(key)
	}
	for c.bytes > maxBytes {
		c.kept.RemoveOldest()
	}
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
			c.mu.Lock()
			c.kept.Purge()
			c.mu.Unlock()
		}
		return nil
	}
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
	if err != nil {
		return err
	}
	name := v.caller.Name
	if !v.named {
		name, ctx = "", access.ForAnyone(ctx)
	}
	key := fmt.Sprintf("%s %q %v %s %s", v.project, name, v.caller.Grants, method, text)
	a := c.find(key)
	message, err := a.get(ctx, c.clock, func(ctx context.Context) (proto.Message, error) {
		made := out.(proto.Message).ProtoReflect().New().Interface()
		if err := c.ClientConnInterface.Invoke(ctx, method, in, made, options...); err != nil {
			return nil, err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.resize(key, a, made)
		return made, nil
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
	fresh := a.message != nil && age < min(max(minFresh, costFactor*a.cost), maxFresh)
	showable := a.message != nil && age < min(max(minFresh, 2*costFactor*a.cost), 2*maxFresh)
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
	a.message, a.err = message, err
	a.at, a.cost = begin, clock().Sub(begin)
	close(a.making)
	a.making = nil
}
