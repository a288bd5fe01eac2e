package samplers

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Interval says how a sampler kept to its interval on one thread.
type Interval struct {
	Sampler Sampler
	// Thread by its name and by its Java id.
	Thread string
	Java   int64
	// Samples that there are, those without a usable trace included.
	Samples int
	// Median and P90 of the time from one sample to the next; 0 with fewer than two samples.
	Median, P90 time.Duration
	// Difference is the median of |time from sample to sample - requested| / requested; NaN with fewer than two samples.
	Difference float64
	// PerCPU is the CPU time of the thread by sample, 0 where the program did not report it: what a sampler of CPU time adheres to,
	// however much the thread waited for a processor.
	PerCPU time.Duration
	// Lost samples had no room (jdk.CPUTimeSamplesLost), Failed ones no trace according to the JVM, Absent ones none.
	Lost, Failed, Absent int64
}

// Intervals returns the intervals of each sampler and thread, given those that were requested; samplers without a requested one are
// left out. They are ordered by sampler, most samples first.
func (j *Judge) Intervals(requested map[Sampler]time.Duration) []Interval {
	var all []Interval
	for number, lanes := range j.lanes() {
		t := j.threads[number]
		for by := range samplerCount {
			if requested[by] <= 0 || len(lanes[by]) == 0 && t.lost[by] == 0 {
				continue
			}
			i := intervalOf(lanes[by], requested[by])
			i.Sampler, i.Thread, i.Java, i.Lost, i.Failed = by, t.name, t.java, t.lost[by], t.failed[by]
			if cpu := j.cpu[t.java]; cpu > 0 && i.Samples > 0 {
				i.PerCPU = cpu / time.Duration(i.Samples)
			}
			all = append(all, i)
		}
	}
	slices.SortStableFunc(all, func(a, b Interval) int {
		return cmp.Or(cmp.Compare(a.Sampler, b.Sampler), cmp.Compare(b.Samples, a.Samples), cmp.Compare(a.Java, b.Java))
	})
	return all
}

func intervalOf(lane []sample, requested time.Duration) Interval {
	i := Interval{Samples: len(lane), Difference: math.NaN()}
	var gaps []time.Duration
	var differences []float64
	for k, s := range lane {
		if s.state == absent {
			i.Absent++
		}
		if k > 0 {
			gap := time.Duration(s.begin - lane[k-1].begin)
			gaps = append(gaps, gap)
			differences = append(differences, math.Abs(float64(gap-requested))/float64(requested))
		}
	}
	if len(gaps) > 0 {
		slices.Sort(gaps)
		slices.Sort(differences)
		i.Median, i.P90, i.Difference = quantile(gaps, 0.5), quantile(gaps, 0.9), quantile(differences, 0.5)
	}
	return i
}

// quantile of sorted values: the smallest that at least this share does not exceed.
func quantile[T any](sorted []T, share float64) T {
	return sorted[max(int(math.Ceil(share*float64(len(sorted))))-1, 0)]
}
