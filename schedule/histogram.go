package schedule

import (
	"fmt"
	"time"
)

// Buckets is MISSTEP_BUCKETS of intf.h: the number of counts of a histogram.
const Buckets = 40

// Histogram counts durations by powers of two: the i-th count is that of durations in [2^i, 2^(i+1)) nanoseconds.
type Histogram []uint64

// Count returns the number of all durations.
func (h Histogram) Count() uint64 {
	var n uint64
	for _, x := range h {
		n += x
	}
	return n
}

// Quantile returns an upper bound of at least the share q of the durations; 0 for an empty histogram.
func (h Histogram) Quantile(q float64) time.Duration {
	var n uint64
	for i, x := range h {
		n += x
		if n > 0 && float64(n) >= q*float64(h.Count()) {
			return time.Duration(1) << (i + 1)
		}
	}
	return 0
}

func (h Histogram) String() string {
	if h.Count() == 0 {
		return "none"
	}
	return fmt.Sprintf("%d, half below %v, 99 %% below %v, all below %v",
		h.Count(), h.Quantile(0.5), h.Quantile(0.99), h.Quantile(1))
}
