package bench

import (
	"math"
	"slices"
)

// Median returns the median of values, NaN if there are none.
func Median(values []float64) float64 { return Quantile(values, 0.5) }

// Quantile returns the q-quantile (0 to 1) of values with linear interpolation; NaN if there are none.
func Quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	low := int(math.Floor(at))
	if low+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}

// Slope returns the slope of the least-squares line through the points (x, y), NaN for fewer than two different x.
func Slope(x, y []float64) float64 {
	n := float64(min(len(x), len(y)))
	var sx, sy, sxx, sxy float64
	for i := range min(len(x), len(y)) {
		sx += x[i]
		sy += y[i]
		sxx += x[i] * x[i]
		sxy += x[i] * y[i]
	}
	det := n*sxx - sx*sx
	if det == 0 {
		return math.NaN()
	}
	return (n*sxy - sx*sy) / det
}

// MedianInterval returns the bounds between which the median of what the values were drawn from lies with at least 95 %, whatever
// their distribution: order statistics, by the sign test. With fewer than six values there are none: NaN.
func MedianInterval(values []float64) (low, high float64) {
	n := len(values)
	sorted := slices.Sorted(slices.Values(values))
	// The median is below the k-th value from either end with the probability of fewer than k heads in n tosses.
	tail, term := 0.0, math.Pow(0.5, float64(n))
	k := 0
	for ; k < n/2; k++ {
		if tail+term > 0.025 {
			break
		}
		tail += term
		term *= float64(n-k) / float64(k+1)
	}
	if k == 0 {
		return math.NaN(), math.NaN()
	}
	return sorted[k-1], sorted[n-k]
}
