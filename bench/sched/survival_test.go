package main

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"misstep/schedule"
)

func found(at ...float64) (all []span) {
	for _, x := range at {
		all = append(all, span{x, true})
	}
	return all
}

func censored(at ...float64) (all []span) {
	for _, x := range at {
		all = append(all, span{x, false})
	}
	return all
}

func TestMedianOfCensoredTimes(t *testing.T) {
	for _, c := range []struct {
		spans []span
		at    float64
		known bool
	}{
		{found(5, 1, 3), 3, true},
		{found(1, 2, 3, 4), 2, true},
		{append(found(7), censored(9, 9, 9)...), 9, false},
		{censored(4), 4, false},
		// a run that gave up at once carries no information: the median is that of the others
		{append(found(10, 20, 30), censored(1)...), 20, true},
		{append(found(10, 20), censored(20, 20)...), 20, true},
	} {
		at, known := median(c.spans)
		assert.Equal(t, c.known, known, c.spans)
		assert.InDelta(t, c.at, at, 1e-12, c.spans)
	}
	at, known := median(nil)
	assert.True(t, math.IsNaN(at) && !known)
}

// The mean of k events at most has half the 95 % quantile of chi squared with 2(k+1) degrees of freedom.
func TestAMedianIsAtLeast(t *testing.T) {
	for seen, mean := range []float64{5.9915 / 2, 9.4877 / 2, 12.5916 / 2, 15.5073 / 2} {
		assert.InDelta(t, mean, mostEvents(seen), 1e-3)
	}
	assert.InDelta(t, 7, atLeast(found(7)), 1e-12, "a known median is returned as it is")
	assert.InDelta(t, math.Ln2*10/2.9957, atLeast(censored(1, 1, 1, 1, 1, 1, 1, 1, 1, 1)), 1e-3)
	assert.InDelta(t, 9, atLeast(append(found(1), censored(9, 9)...)), 1e-12, "never less than the longest run")

	// Exponential times with the median ln 2, 20 runs of a quarter each: the bound must hold in 95 % of all cases.
	random := rand.New(rand.NewPCG(5, 6))
	const n = 4000
	kept := 0
	for range n {
		var spans []span
		for range 20 {
			at := random.ExpFloat64()
			spans = append(spans, span{min(at, 0.25), at < 0.25})
		}
		if atLeast(spans) <= math.Ln2 {
			kept++
		}
	}
	assert.Greater(t, kept, n*94/100)
	assert.Less(t, kept, n*99/100, "a bound that always holds by far is useless")
}

func TestIntervalContainsTheMedian(t *testing.T) {
	low, high := medianInterval(found(10, 9, 8, 7, 6, 5, 4, 3, 2, 1))
	assert.Equal(t, [2]float64{2, 9}, [2]float64{low, high}, "the second and the ninth of ten: 97.9 %")
	low, high = medianInterval(append(found(1, 2, 3, 4, 5, 6, 7, 8), censored(2.5, 2.5)...))
	assert.InDelta(t, 2, low, 1e-12)
	assert.True(t, math.IsInf(high, 1))
	low, high = medianInterval(found(1, 2, 3))
	assert.True(t, low == 0 && math.IsInf(high, 1), "three are too few")

	// Exponential times with the true median 1, censored at 2: the interval must contain it in 95 % of all cases.
	random := rand.New(rand.NewPCG(3, 4))
	const n = 2000
	in := 0
	for range n {
		var spans []span
		for range 20 {
			x := random.ExpFloat64() / math.Ln2
			spans = append(spans, span{min(x, 2), x <= 2})
		}
		if low, high := medianInterval(spans); low <= 1 && 1 <= high {
			in++
		}
	}
	assert.Greater(t, float64(in)/n, 0.95)
}

func TestSoonerDistinguishesGroups(t *testing.T) {
	a, b := found(1, 2, 3, 4, 5), censored(9, 9, 9, 9, 9)
	assert.Less(t, sooner(a, b), 0.01)
	assert.Greater(t, sooner(b, a), 0.9)
	assert.Greater(t, sooner(a, a), 0.3)
	assert.InDelta(t, 1, sooner(censored(1, 1), censored(1, 1)), 1e-9, "no bug at all, no difference")

	// No more false positives than the level allows.
	random := rand.New(rand.NewPCG(5, 6))
	positives := 0
	for range 200 {
		var groups [2][]span
		for i := range groups {
			for range 6 {
				x := math.Ceil(3 * random.ExpFloat64())
				groups[i] = append(groups[i], span{min(x, 4), x <= 4})
			}
		}
		if sooner(groups[0], groups[1]) <= 0.05 {
			positives++
		}
	}
	assert.LessOrEqual(t, positives, 20, "10 are expected of 200")
}

func TestJudgeParsesARacesOutput(t *testing.T) {
	var r result
	r.judge("noise\nbug at iteration 0: it hangs (0.000213 s)\n", 0)
	assert.Equal(t, result{Found: true, Ran: 1, Took: 0.000213}, r)
	r = result{}
	r.judge("no bug in 5000 iterations (0.640000 s)\n", 0)
	assert.Equal(t, result{Ran: 5000, Took: 0.64}, r)
	r = result{}
	r.judge("Segmentation fault\n", 0)
	assert.Contains(t, r.Trouble, "Segmentation fault")
}

func TestJudgeParsesTheOutputOfALibrarysProgram(t *testing.T) {
	r := result{cell: cell{Race: "pool-clear", Iterations: 300}}
	r.judge("misstep: workload validation failed: bug in round 6: the thread first hangs\n", 2*time.Second)
	assert.True(t, r.Found)
	assert.Equal(t, 7, r.Ran, "rounds are counted from 0")
	assert.Equal(t, "the thread first hangs", r.What)
	assert.InDelta(t, 2, r.Took, 1e-9)
	r = result{cell: cell{Race: "pool-clear", Iterations: 300}}
	r.judge("misstep: workload verified 1 repetitions\n", time.Second)
	assert.False(t, r.Found)
	assert.Equal(t, 300, r.Ran)
	r.judge("Error: Could not find or load main class\n", time.Second)
	assert.Contains(t, r.Trouble, "main class")
}

func TestCellsComeSeedBySeed(t *testing.T) {
	all := cellsOf(mainStrategies)
	assert.Len(t, all, seeds*len(mainStrategies)*(len(racesC)+len(racesJava)))
	for i := range len(mainStrategies) * len(racesC) {
		assert.Equal(t, uint64(firstSeed), all[i].Seed)
	}
	assert.Contains(t, otherStrategies(), "pct")
	assert.NotContains(t, otherStrategies(), "chaos")
}

// The interval contains the true ratio about as often as its level promises, if each run has its own rate in both ways.
func TestRatioOfHitsCovers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	hits := func(p float64) (n int) {
		for range 20 {
			if random.Float64() < p {
				n++
			}
		}
		return n
	}
	for _, factor := range []float64{1, 2} {
		covered := 0
		for range 300 {
			var pairs [][2]int
			for range 36 {
				p := 0.5 * random.Float64() * random.Float64()
				pairs = append(pairs, [2]int{hits(factor * p), hits(p)})
			}
			_, low, high := ratioOfHits(pairs)
			if low <= factor && factor <= high {
				covered++
			}
		}
		assert.InDelta(t, 0.94, float64(covered)/300, 0.04, "factor %v", factor)
	}
	ratio, _, _ := ratioOfHits([][2]int{{3, 0}})
	assert.False(t, math.IsInf(ratio, 0))
	ratio, _, _ = ratioOfHits(nil)
	assert.True(t, math.IsNaN(ratio))
}

func TestThreadsOfIteration(t *testing.T) {
	log := func(children, others uint32) *schedule.Log {
		l := &schedule.Log{Threads: []schedule.Record{{Path: 1}, {Path: 2}}}
		for i := range children {
			l.Threads = append(l.Threads, schedule.Record{Path: uint64(i) + 10, Delay: 1, Counter: i})
		}
		for i := range others {
			l.Threads = append(l.Threads, schedule.Record{Path: uint64(i) + 1000, Delay: 2, Counter: i})
		}
		return l
	}
	assert.Equal(t, 3, threadsOfIteration(log(30, 0), 10))
	assert.Equal(t, 3, threadsOfIteration(log(29, 5), 10), "the last one ended early")
	assert.Equal(t, 1, threadsOfIteration(log(0, 0), 1))
}
