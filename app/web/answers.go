package web

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
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
	value  T         // the last answer
	made   bool      // there is a last one
	at     time.Time // when it was asked for
	cost   time.Duration
	making chan struct{} // closed when the call that is under way has ended; nil when none is
	err    error         // of the last call
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

// get returns an answer that is fresh; while one is made anew, the last one, unless it is too old. make has a context that outlasts
// whoever asked.
func (c *answers[T]) get(ctx context.Context, key string, make func(context.Context) (T, error)) (T, error) {
	a := c.find(key)
	a.mu.Lock()
	age := c.clock().Sub(a.at)
	fresh := a.made && age < min(max(c.minFresh, costFactor*a.cost), maxFresh)
	showable := a.made && age < min(max(c.minFresh, 2*costFactor*a.cost), 2*maxFresh)
	if !fresh && a.making == nil {
		a.making = newSignal()
		go c.renew(context.WithoutCancel(ctx), key, a, make)
	}
	value, making := a.value, a.making
	a.mu.Unlock()
	if showable {
		return value, nil
	}
	select {
	case <-ctx.Done():
		return value, ctx.Err()
	case <-making:
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.value, a.err
}

func newSignal() chan struct{} { return make(chan struct{}) }

func (c *answers[T]) renew(ctx context.Context, key string, a *answer[T], make func(context.Context) (T, error)) {
	begin := c.clock()
	value, err := make(ctx)
	if err == nil {
		c.mu.Lock()
		c.resize(key, a, c.sizeOf(value))
		c.mu.Unlock()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.value, a.made, a.err = value, err == nil, err
	a.at, a.cost = begin, c.clock().Sub(begin)
	close(a.making)
	a.making = nil
}
