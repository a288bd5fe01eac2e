// Package buckets bounds how often each of many may do something: token buckets by key, in bounded memory.
package buckets

import (
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxKept bounds the keys that are counted at a time.
const maxKept = 10_000

// Buckets are token buckets by key. The zero value is ready; it is safe for concurrent use.
type Buckets[K comparable] struct {
	mu   sync.Mutex
	kept map[K]*rate.Limiter // guarded by mu
}

// Of returns the bucket of a key; a new one is full, and gets so many tokens a second and holds so many.
func (b *Buckets[K]) Of(key K, now time.Time, perSecond rate.Limit, burst int) *rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.kept[key]; r != nil {
		return r
	}
	if b.kept == nil {
		b.kept = map[K]*rate.Limiter{}
	}
	if len(b.kept) >= maxKept {
		b.forget(now)
	}
	r := rate.NewLimiter(perSecond, burst)
	b.kept[key] = r
	return r
}

// forget removes buckets that are full, which changes nothing, and if there are few of them, others. The caller holds b.mu.
func (b *Buckets[K]) forget(now time.Time) {
	maps.DeleteFunc(b.kept, func(_ K, r *rate.Limiter) bool { return r.TokensAt(now) >= float64(r.Burst()) })
	for key := range b.kept {
		if len(b.kept) <= maxKept*3/4 {
			return
		}
		delete(b.kept, key)
	}
}
