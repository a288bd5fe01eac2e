package jfrcheck

import (
	"maps"
	"math"
	"slices"
	"time"
)

const (
	// mostTimes bounds the samples of a chunk whose times are kept until its end.
	mostTimes = 1 << 21
	// perOctave is how many classes of length a factor of two has, so that a class is within 5 %.
	perOctave = 16
)

// intervals are the times from one sample of a thread to its next, by sampler. The events of a chunk are in no order, so that its
// times are kept until its end.
type intervals struct {
	times   map[lane][]int64
	kept    int
	overrun bool
	last    map[lane]int64
	lengths map[string]map[int]uint64 // by sampler and class of length
}

// lane is a thread as a sampler sees it.
type lane struct {
	sampler  string
	java, os int64
}

func newIntervals() *intervals {
	return &intervals{times: map[lane][]int64{}, last: map[lane]int64{}, lengths: map[string]map[int]uint64{}}
}

func (i *intervals) sample(l lane, nanos int64) {
	if i.kept >= mostTimes {
		i.overrun = true
		return
	}
	i.kept++
	i.times[l] = append(i.times[l], nanos)
}

// recordingEnds forgets the last samples: the next recording may be of another JVM.
func (i *intervals) recordingEnds() {
	i.chunkEnds()
	clear(i.last)
}

func (i *intervals) chunkEnds() {
	for l, times := range i.times {
		slices.Sort(times)
		before, has := i.last[l]
		for _, t := range times {
			if has && t > before {
				i.add(l.sampler, t-before)
			}
			before, has = t, true
		}
		i.last[l] = before
	}
	clear(i.times)
	i.kept = 0
}

func (i *intervals) add(sampler string, nanos int64) {
	if i.lengths[sampler] == nil {
		i.lengths[sampler] = map[int]uint64{}
	}
	i.lengths[sampler][int(math.Round(math.Log2(float64(nanos))*perOctave))]++
}

// quantile is the length that at least this share of the intervals does not exceed; 0 where there are none.
func (i *intervals) quantile(sampler string, share float64) time.Duration {
	classes := i.lengths[sampler]
	var all, sum uint64
	for _, n := range classes {
		all += n
	}
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		if sum += classes[class]; float64(sum) >= share*float64(all) {
			return time.Duration(math.Round(math.Exp2(float64(class) / perOctave)))
		}
	}
	return 0
}
