package fleet

import (
	"math"
	"sync/atomic"
	"time"
)

// Latencies counts durations in classes that are 2 % wide, from a microsecond to about an hour. It is safe for concurrent use; the
// zero value is ready.
type Latencies struct{ classes [1200]atomic.Uint64 }

const growth = 1.02

// Add counts a duration.
func (l *Latencies) Add(d time.Duration) {
	class := math.Log(max(1, float64(d)/float64(time.Microsecond))) / math.Log(growth)
	l.classes[min(int(class), len(l.classes)-1)].Add(1)
}

// Reset forgets all durations.
func (l *Latencies) Reset() {
	for i := range l.classes {
		l.classes[i].Store(0)
	}
}

// Count returns how many durations were counted.
func (l *Latencies) Count() (n uint64) {
	for i := range l.classes {
		n += l.classes[i].Load()
	}
	return n
}

// Quantile returns the duration that a share q, in (0, 1], of all durations does not exceed, at most 2 % too long; 0 without any.
func (l *Latencies) Quantile(q float64) time.Duration {
	rank := uint64(math.Ceil(q * float64(l.Count())))
	var n uint64
	for i := range l.classes {
		if n += l.classes[i].Load(); n > 0 && n >= rank {
			return time.Duration(math.Pow(growth, float64(i+1)) * float64(time.Microsecond))
		}
	}
	return 0
}
