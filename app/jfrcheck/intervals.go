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
	lengths map[string]lengths            // by sampler
	threads map[string]map[string]lengths // by thread and sampler
	kinds   int                           // of thread and sampler
}

// lengths counts intervals by the class of their length.
type lengths map[int]uint64

func (l lengths) all() (n uint64) {
	for _, of := range l {
		n += of
	}
	return n
}

// mostThreads bounds the pairs of thread and sampler whose intervals are kept.
const mostThreads = 1 << 12

// lane is a thread as a sampler sees it.
type lane struct {
	sampler, name string
	java, os      int64
}

func newIntervals() *intervals {
	return &intervals{
		times: map[lane][]int64{}, last: map[lane]int64{}, lengths: map[string]lengths{}, threads: map[string]map[string]lengths{},
	}
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
				i.add(l, t-before)
			}
			before, has = t, true
		}
		i.last[l] = before
	}
	clear(i.times)
	i.kept = 0
}

func (i *intervals) add(of lane, nanos int64) {
	class := int(math.Round(math.Log2(float64(nanos)) * perOctave))
	if i.lengths[of.sampler] == nil {
		i.lengths[of.sampler] = lengths{}
	}
	i.lengths[of.sampler][class]++
	samplers := i.threads[of.name]
	if samplers[of.sampler] == nil {
		if i.kinds >= mostThreads {
			return
		}
		if samplers == nil {
			samplers = map[string]lengths{}
			i.threads[of.name] = samplers
		}
		samplers[of.sampler] = lengths{}
		i.kinds++
	}
	samplers[of.sampler][class]++
}

// ofThread returns the intervals of a thread by the sampler that has most of them, or of all threads of the name.
func (i *intervals) ofThread(name string) lengths {
	var most lengths
	for _, sampler := range slices.Sorted(maps.Keys(i.threads[name])) {
		if l := i.threads[name][sampler]; l.all() > most.all() {
			most = l
		}
	}
	return most
}

// quantile is the length that at least this share of the intervals does not exceed; 0 where there are none.
func (l lengths) quantile(share float64) time.Duration {
	classes, all, sum := l, l.all(), uint64(0)
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		if sum += classes[class]; float64(sum) >= share*float64(all) {
			return time.Duration(math.Round(math.Exp2(float64(class) / perOctave)))
		}
	}
	return 0
}
