package explain

import (
	"slices"
	"time"
)

// axis maps times to pixels. Times in which nothing changes for very long are folded: otherwise a hang of seconds would hide the
// microseconds before it.
type axis struct {
	times []time.Duration // of changes, ascending
	x     []float64       // of each
	folds []fold
}

// fold is a part of the picture that stands for more time than its width says.
type fold struct {
	X, Width, Middle float64
	Label            string
}

// A time between two changes is folded from so many times their 90th percentile on, if it is more than a part of all the others
// together.
const foldFrom, foldPart = 6, 10

// axisOf makes the axis of changes, the first and last of which are its ends.
func axisOf(times []time.Duration, width float64) *axis {
	slices.Sort(times)
	a := &axis{times: slices.Compact(times)}
	var lengths []time.Duration
	for i := 1; i < len(a.times); i++ {
		lengths = append(lengths, a.times[i]-a.times[i-1])
	}
	if len(lengths) == 0 {
		a.x = make([]float64, len(a.times))
		return a
	}
	ordered := slices.Sorted(slices.Values(lengths))
	span := a.times[len(a.times)-1] - a.times[0]
	most := max(foldFrom*ordered[(len(ordered)-1)*9/10], (span-ordered[len(ordered)-1])/foldPart, 1)
	var total time.Duration
	for _, l := range lengths {
		total += min(l, most)
	}
	a.x = append(a.x, 0)
	for i, l := range lengths {
		w := width * float64(min(l, most)) / float64(total)
		if l > most {
			a.folds = append(a.folds, fold{X: a.x[i], Width: w, Label: Short(l)})
		}
		a.x = append(a.x, a.x[i]+w)
	}
	return a
}

// at returns the pixel of a time; times outside are at the ends.
func (a *axis) at(t time.Duration) float64 {
	i, exact := slices.BinarySearch(a.times, t)
	switch {
	case exact:
		return a.x[i]
	case i == 0:
		return 0
	case i == len(a.times):
		return a.x[i-1]
	}
	part := float64(t-a.times[i-1]) / float64(a.times[i]-a.times[i-1])
	return a.x[i-1] + part*(a.x[i]-a.x[i-1])
}

// timeAt is the reverse.
func (a *axis) timeAt(x float64) time.Duration {
	i, exact := slices.BinarySearch(a.x, x)
	switch {
	case exact:
		return a.times[i]
	case i == 0:
		return a.times[0]
	case i == len(a.x):
		return a.times[i-1]
	}
	part := (x - a.x[i-1]) / (a.x[i] - a.x[i-1])
	return a.times[i-1] + time.Duration(part*float64(a.times[i]-a.times[i-1]))
}
