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
