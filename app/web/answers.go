package web

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// maxKept bounds the answers that are kept, and maxBytes their bytes with those of the requests, as they are on the wire; in
	// memory they take a few times as much.
	maxKept  = 500
	maxBytes = 32 << 20
	// costFactor bounds the share of the time that is spent on making one answer anew: an answer that took half a second is made at
	// most every five. For as long again it is shown while a new one is made. maxFresh is the end of that: what took longer did so
	// since much was asked for at once, or for the first time, and that says nothing about the next one.
	costFactor = 10
	maxFresh   = 10 * time.Second
	// maxMaking bounds the time in which an answer is made, and so how long anybody waits for one.
	maxMaking = time.Minute
)

// answers are kept for a short time by what was asked, so that many who ask the same cost as much as one.
type answers[T any] struct {
	// minFresh is how long an answer is given to everybody at least.
	minFresh time.Duration
	// sizeOf returns the bytes of an answer.
	sizeOf func(T) int
	clock  func() time.Time

	mu    sync.Mutex
	kept  *simplelru.LRU[string, *answer[T]] // guarded by mu
	bytes int                                // of those that are kept, guarded by mu
}

// answer is one kept answer, or one that is being made for the first time.
type answer[T any] struct {
	size int // of the kept one with its request; guarded by answers.mu

	mu     sync.Mutex
	last   *making[T] // the last that succeeded; nil when none did
	making *making[T] // the one that is under way; nil when none is
}

// making is a call for an answer. What it came to may be read once done is closed.
type making[T any] struct {
	done  chan struct{}
	at    time.Time // when it was asked for
	cost  time.Duration
	value T
	err   error
}

func newAnswers[T any](minFresh time.Duration, sizeOf func(T) int, clock func() time.Time) *answers[T] {
	c := &answers[T]{minFresh: minFresh, sizeOf: sizeOf, clock: clock}
	kept, err := simplelru.NewLRU(maxKept, func(_ string, a *answer[T]) { c.bytes -= a.size })
	if err != nil {
		panic(err) // of a size that is not positive
	}
	c.kept = kept
	return c
}

// forget makes the next answers anew.
func (c *answers[T]) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept.Purge()
}

// find returns the answer to a request, which may have to be made.
func (c *answers[T]) find(key string) *answer[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, found := c.kept.Get(key)
	if !found {
		a = &answer[T]{}
		c.kept.Add(key, a)
		c.resize(key, a, 0)
	}
	return a
}

// resize notes what an answer takes now, if it is still kept, and forgets those that nobody wanted for longest while there is too
// much. The caller holds c.mu.
func (c *answers[T]) resize(key string, a *answer[T], size int) {
	if current, found := c.kept.Peek(key); !found || current != a {
		return
	}
	c.bytes -= a.size
	a.size = len(key) + size
	c.bytes += a.size
	if a.size > maxBytes { // the others stay
		c.kept.Remove(key)
	}
	for c.bytes > maxBytes {
		c.kept.RemoveOldest()
	}
}

// drop forgets an answer, unless another one took its place.
func (c *answers[T]) drop(key string, a *answer[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if current, found := c.kept.Peek(key); found && current == a {
		c.kept.Remove(key)
	}
}

// get returns an answer that is fresh; while one is made anew, the last one, unless it is too old. make has a context that outlasts
// whoever asked, but no longer than maxMaking. Nobody gets an error that is about somebody else who asked at the same time.
func (c *answers[T]) get(ctx context.Context, key string, make func(context.Context) (T, error)) (T, error) {
	for {
		current, mine := c.current(ctx, key, make)
		select {
		case <-ctx.Done():
			var none T
			return none, status.FromContextError(ctx.Err()).Err()
		case <-current.done:
		}
		if mine || !personal(current.err) {
			return current.value, current.err
		}
	}
}

// personal reports whether an error is about who called, who may be the only one whom it concerns.
func personal(err error) bool {
	switch status.Code(err) {
	case codes.PermissionDenied, codes.Unauthenticated, codes.ResourceExhausted:
		return true
	}
	return false
}

// current returns the answer to show, which may be under way, and whether it is made for whoever asks now.
func (c *answers[T]) current(ctx context.Context, key string, make func(context.Context) (T, error)) (m *making[T], mine bool) {
	a := c.find(key)
	a.mu.Lock()
	defer a.mu.Unlock()
	now := c.clock()
	young := func(times time.Duration) bool {
		return a.last != nil && now.Sub(a.last.at) < min(max(c.minFresh, times*costFactor*a.last.cost), times*maxFresh)
	}
	if !young(1) && a.making == nil {
		a.making, mine = &making[T]{done: newSignal(), at: now}, true
		go c.renew(context.WithoutCancel(ctx), key, a, a.making, make)
	}
	if young(2) {
		return a.last, false
	}
	return a.making, mine
}

func newSignal() chan struct{} { return make(chan struct{}) }

func (c *answers[T]) renew(ctx context.Context, key string, a *answer[T], m *making[T], make func(context.Context) (T, error)) {
	ctx, cancel := context.WithTimeout(ctx, maxMaking)
	defer cancel()
	m.value, m.err = make(ctx)
	m.cost = c.clock().Sub(m.at)
	if m.err == nil {
		c.mu.Lock()
		c.resize(key, a, c.sizeOf(m.value))
		c.mu.Unlock()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.making = nil
	switch {
	case m.err == nil:
		a.last = m
	case a.last == nil || !personal(m.err):
		c.drop(key, a) // what nobody can be shown takes no place
	}
	close(m.done)
}
