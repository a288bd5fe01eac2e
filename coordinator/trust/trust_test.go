package trust

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The probabilities of a single table are those of Fisher's exact test: 3 of 4 cups against 1 of 4 have p = 17/70, all four 1/70.
func TestTailIsFishers(t *testing.T) {
	assert.InDelta(t, 17.0/70, tail([]stratum{{3, 4, 1, 4}}, 1, true), 1e-12)
	assert.InDelta(t, 1.0/70, tail([]stratum{{4, 4, 0, 4}}, 1, true), 1e-12)
	assert.InDelta(t, 1.0/70, tail([]stratum{{0, 4, 4, 4}}, 1, false), 1e-12)
	// With odds 2 the weights of 0 … 4 hits are 1, 32, 144, 128, 16.
	assert.InDelta(t, 144.0/321, tail([]stratum{{3, 4, 1, 4}}, 2, true), 1e-12)
	// Two tables: the sum is at least 7 with 4+4, 4+3 or 3+4.
	assert.InDelta(t, (1+2*16)/4900.0, tail([]stratum{{4, 4, 0, 4}, {3, 4, 1, 4}}, 1, true), 1e-12)
}

// More others, more trials: nothing overflows, and what is as expected is not surprising.
func TestTailOfLargeTables(t *testing.T) {
	p := tail([]stratum{{41, 4096, 1_000_000, 100_000_000}}, 1, true)
	assert.InDelta(t, 0.5, p, 0.1)
	assert.Less(t, tail([]stratum{{0, 4096, 1_000_000, 100_000_000}}, 0.5, false), 1e-8)
}

// fleet draws results of owners over combinations with rates of their own.
type fleet struct {
	random *rand.Rand
	rates  [][classes]float64 // by combination
}

func newFleet(seed uint64, combinations int) *fleet {
	f := &fleet{random: rand.New(rand.NewPCG(seed, 1))}
	for range combinations {
		// Most combinations show next to nothing, some nearly always something.
		f.rates = append(f.rates, [classes]float64{
			Finding: math.Pow(f.random.Float64(), 6), Unproved: 0.2 * f.random.Float64(), Failed: 0.02 * f.random.Float64(),
		})
	}
	return f
}

// draw returns a combination and the class of an honest result whose odds of a finding are changed by a factor.
func (f *fleet) draw(odds float64) (string, Class) {
	i := f.random.IntN(len(f.rates))
	return fmt.Sprint(i), f.drawOf(i, odds)
}

// drawOf is draw of a combination.
func (f *fleet) drawOf(i int, odds float64) Class {
	for _, class := range []Class{Finding, Unproved, Failed} {
		p := f.rates[i][class]
		if class == Finding {
			p = odds * p / (1 - p + odds*p)
		}
		if f.random.Float64() < p {
			return class
		}
	}
	return Quiet
}

// accused plays owners that report in turn and returns how many are accused. A machine's odds of findings differ by up to the
// factor spread from one owner to the other.
func accused(seed uint64, p Policy, owners, trials int, spread float64) (n int) {
	f, j := newFleet(seed, 20), New(p)
	odds := make([]float64, owners)
	for i := range odds {
		odds[i] = math.Pow(spread, f.random.Float64()-0.5)
	}
	guilty := map[string]bool{}
	for range trials {
		for i := range owners {
			combination, class := f.draw(odds[i])
			if a := j.Add(fmt.Sprint(i), combination, class); a != nil {
				guilty[a.Owner] = true
			}
		}
	}
	return len(guilty)
}

// Of 600 honest owners at an error of 2 % at most 12 are expected to be accused in all their looks; 25 would happen with a
// probability of 0.0004. They are fewer by far, as the odds are allowed to differ and the test is exact.
func TestFalseAlarmsAreBounded(t *testing.T) {
	n := 0
	for seed := range uint64(20) {
		n += accused(seed, Policy{Error: 0.02, Odds: 1, Others: 2}, 30, 500, 1)
	}
	t.Logf("same machines, no tolerance: %d of 600 accused", n)
	assert.LessOrEqual(t, n, 25)
	n = 0
	for seed := range uint64(10) {
		n += accused(seed, DefaultPolicy(), 20, 1000, 1.5)
	}
	assert.Zero(t, n, "machines that differ by a factor of 1.5")
}

// caught returns after how many of its trials a liar among honest owners is accused, and whether an honest one was.
func caught(t *testing.T, seed uint64, lie func(random *rand.Rand, combination string, class Class) Class) int {
	t.Helper()
	f, j := newFleet(seed, 20), New(DefaultPolicy())
	for n := 1; n <= 20_000; n++ {
		for i := range 6 {
			combination, class := f.draw(1)
			if i == 0 {
				class = lie(f.random, combination, class)
			}
			if a := j.Add(fmt.Sprint(i), combination, class); a != nil {
				require.Equal(t, "0", a.Owner, "an honest owner is accused: %s", a)
				return n
			}
		}
	}
	return math.MaxInt
}

// A runner that lies is accused within a stated number of trials, in each of 20 fleets.
func TestLiarsAreCaught(t *testing.T) {
	for name, c := range map[string]struct {
		within int
		lie    func(*rand.Rand, string, Class) Class
	}{
		"runs nothing and reports clean trials": {1000, func(*rand.Rand, string, Class) Class { return Quiet }},
		"invents a finding in three trials of ten": {1000, func(r *rand.Rand, _ string, c Class) Class {
			if r.Float64() < 0.3 {
				return Finding
			}
			return c
		}},
		"hides nine findings of ten": {2100, func(r *rand.Rand, _ string, c Class) Class {
			if c == Finding && r.Float64() < 0.9 {
				return Quiet
			}
			return c
		}},
		"proves nothing":    {100, func(*rand.Rand, string, Class) Class { return Unproved }},
		"fails every trial": {100, func(*rand.Rand, string, Class) Class { return Failed }},
	} {
		worst := 0
		for seed := range uint64(20) {
			worst = max(worst, caught(t, seed, c.lie))
		}
		t.Logf("%s: within %d trials", name, worst)
		assert.LessOrEqual(t, worst, c.within, name)
	}
}

// Of two owners that disagree nobody is accused, since nobody knows which one is right.
func TestTwoOwnersAreTooFew(t *testing.T) {
	j := New(DefaultPolicy())
	for range 5000 {
		assert.Nil(t, j.Add("a", "c", Quiet))
		assert.Nil(t, j.Add("b", "c", Finding))
	}
}

// What only one owner ran does not count for it.
func TestCombinationsOfOneOwner(t *testing.T) {
	j := New(DefaultPolicy())
	for i := range 5000 {
		for owner := range 3 {
			assert.Nil(t, j.Add(fmt.Sprint(owner), fmt.Sprint(owner), Class((owner+i)%2)))
		}
	}
}

// Once an owner is forgotten, the others are compared among themselves, and it starts anew.
func TestForget(t *testing.T) {
	j := New(DefaultPolicy())
	for range 100 {
		for _, owner := range []string{"a", "b", "c", "liar"} {
			class := Quiet
			if owner == "liar" {
				class = Finding
			}
			j.Add(owner, "x", class)
		}
	}
	j.Forget("liar")
	j.Forget("stranger")
	assert.Equal(t, counts{Quiet: 300}, *j.total["x"])
	assert.Len(t, j.owners, 3)
}

func TestWhatAnAccusationSays(t *testing.T) {
	a := Accusation{Owner: "runner a", Class: Finding, Has: 0, Expected: 41.23, Trials: 512, P: 3e-9}
	assert.Equal(t, "of 512 trials 0 showed findings, where the trials of others let expect 41.2 (p = 3e-09)", a.String())
}

// BenchmarkLook is the longest look that there is.
func BenchmarkLook(b *testing.B) {
	tables := make([]stratum, 20)
	for i := range tables {
		tables[i] = stratum{100, lastLook / 20, 1_000_000, 4_000_000}
	}
	for b.Loop() {
		tail(tables, 2, true)
	}
}

// Whoever runs nearly all trials and hides what they show does not make the few honest ones look guilty.
func TestALiarWithMostTrialsAccusesNobody(t *testing.T) {
	random, j := rand.New(rand.NewPCG(5, 6)), New(DefaultPolicy())
	accused := map[string]bool{}
	hear := func(owner string, class Class) {
		if a := j.Add(owner, "x", class); a != nil {
			accused[a.Owner] = true
		}
	}
	for range 500 {
		for range 50 {
			hear("liar", Quiet) // although it is accused
		}
		for i := range 3 {
			if random.Float64() < 0.2 {
				hear(fmt.Sprint("honest", i), Finding)
			} else {
				hear(fmt.Sprint("honest", i), Quiet)
			}
		}
	}
	assert.Equal(t, map[string]bool{"liar": true}, accused)
}
