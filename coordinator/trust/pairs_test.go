package trust

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The sign test's probabilities are those of tosses: of 10 fair ones at least 9 are heads with 11/1024.
func TestBinomial(t *testing.T) {
	assert.InDelta(t, 11.0/1024, binomial(9, 10, 0.5), 1e-12)
	assert.InDelta(t, 1.0, binomial(0, 10, 0.5), 1e-12)
	assert.InDelta(t, math.Pow(2.0/3, 30), binomial(30, 30, 2.0/3), 1e-12)
}

// facts are as many as the coordinator has.
const facts = 32

// lie is what an owner makes of the class of a result.
type lie func(random *rand.Rand, class Class) Class

var lies = []struct {
	name string
	lie  lie
}{
	{"runs nothing and reports clean trials", func(*rand.Rand, Class) Class { return Quiet }},
	{"never reports findings", func(_ *rand.Rand, c Class) Class {
		if c == Finding {
			return Quiet
		}
		return c
	}},
	{"invents a finding in three trials of ten", func(r *rand.Rand, c Class) Class {
		if r.Float64() < 0.3 {
			return Finding
		}
		return c
	}},
}

func factsOf(c Class) []string {
	if c == Quiet {
		return nil
	}
	return []string{c.String()}
}

// site is a coordinator with owners that run trials, a share of which is repeated by another owner, drawn at random.
type site struct {
	*fleet
	judge *Judge
	pairs *Pairs
	share float64
	lie   map[int]lie
	odds  []float64
	// alone makes every owner run combinations that no other one does, but for repetitions.
	alone bool
	// accused owners.
	accused map[string]bool
}

func newSite(seed uint64, owners int, share float64, alone bool) *site {
	combinations := 20
	if alone {
		combinations = owners
	}
	s := &site{
		fleet: newFleet(seed, combinations), judge: New(DefaultPolicy()), pairs: NewPairs(DefaultPolicy(), facts), share: share,
		lie: map[int]lie{}, odds: make([]float64, owners), alone: alone, accused: map[string]bool{},
	}
	for i := range s.odds {
		s.odds[i] = math.Pow(1.5, s.random.Float64()-0.5)
		if alone { // what one finding in ten trials shows
			s.rates[i] = [classes]float64{Finding: 0.1, Unproved: 0.05}
		}
	}
	return s
}

func (s *site) run(i, combination int) Class {
	class := s.drawOf(combination, s.odds[i])
	if l := s.lie[i]; l != nil {
		class = l(s.random, class)
	}
	return class
}

func (s *site) hear(i, combination int, class Class) {
	if a := s.judge.Add(fmt.Sprint(i), fmt.Sprint(combination), class); a != nil {
		s.accused[a.Owner] = true
	}
}

// trial is one of owner i.
func (s *site) trial(i int) {
	combination := s.random.IntN(len(s.rates))
	if s.alone {
		combination = i
	}
	first := s.run(i, combination)
	s.hear(i, combination, first)
	if first == Failed || s.random.Float64() >= s.share {
		return
	}
	other := (i + 1 + s.random.IntN(len(s.odds)-1)) % len(s.odds)
	second := s.run(other, combination)
	s.hear(other, combination, second)
	if second == Failed {
		return
	}
	for _, c := range s.pairs.Add(fmt.Sprint(i), fmt.Sprint(other), factsOf(first), factsOf(second)) {
		s.accused[c.Owner] = true
	}
}

// caughtAfter returns after how many of its own trials owner 0, who lies, is accused, and how many honest owners are before.
func (s *site) caughtAfter(l lie, most int) (trials, innocent int) {
	s.lie[0] = l
	for n := 1; n <= most; n++ {
		for i := range s.odds {
			s.trial(i)
		}
		if s.accused["0"] {
			return n, len(s.accused) - 1
		}
	}
	return most + 1, len(s.accused)
}

// Repetition finds who lies about what nobody else runs. The table is that of the security model's page.
func TestWhoeverLiesAloneIsCaught(t *testing.T) {
	const fleets, most = 20, 60_000
	for _, l := range lies {
		for _, c := range []struct {
			share  float64
			alone  bool
			within int
		}{{0, false, 1000}, {0.02, false, 1000}, {0.02, true, 25_000}, {0.05, true, 8000}} {
			worst, innocent := 0, 0
			for seed := range uint64(fleets) {
				n, honest := newSite(seed, 6, c.share, c.alone).caughtAfter(l.lie, most)
				worst, innocent = max(worst, n), innocent+honest
			}
			t.Logf("%-42s share %4.2f alone %-5v: within %5d trials, %d honest accused", l.name, c.share, c.alone, worst, innocent)
			assert.LessOrEqual(t, worst, c.within, l.name)
			assert.Zero(t, innocent, l.name)
		}
	}
	s := newSite(1, 6, 0, true)
	n, _ := s.caughtAfter(lies[0].lie, 20_000)
	assert.Greater(t, n, 20_000, "without repetition nobody knows")
}

// Of a thousand honest owners on machines whose odds differ by up to 1.5 none is accused.
func TestAThousandHonestOwners(t *testing.T) {
	accused, trials := 0, 0
	for seed := range uint64(20) {
		s := newSite(seed, 50, 0.05, seed%2 == 0)
		for range 1500 {
			for i := range s.odds {
				s.trial(i)
			}
		}
		accused += len(s.accused)
		trials += 1500 * len(s.odds)
	}
	t.Logf("%d of 1,000 honest owners accused in %d trials, of which one in twenty was repeated", accused, trials)
	assert.Zero(t, accused)
}

// With no tolerance the error that is spent is what it says: 1,000 owners at 2 % and two tests of one fact expect fewer than 20.
func TestTheErrorOfPairsIsBounded(t *testing.T) {
	random, accused := rand.New(rand.NewPCG(3, 4)), 0
	for range 20 {
		p, guilty := NewPairs(Policy{Error: 0.02, Odds: 1, Others: 2}, 1), map[string]bool{}
		for range 50 * 200 {
			one := random.IntN(50)
			other := (one + 1 + random.IntN(49)) % 50
			of := func() []string {
				if random.Float64() < 0.3 {
					return []string{"f"}
				}
				return nil
			}
			for _, c := range p.Add(fmt.Sprint(one), fmt.Sprint(other), of(), of()) {
				guilty[c.Owner] = true
			}
		}
		accused += len(guilty)
	}
	t.Logf("%d of 1,000", accused)
	assert.LessOrEqual(t, accused, 35)
}

// One liar cannot make an honest owner look guilty: leaving it out, the others agree.
func TestOneLiarAccusesNobody(t *testing.T) {
	p := NewPairs(DefaultPolicy(), facts)
	for i := range 2000 {
		honest := fmt.Sprint("honest", i%3)
		for _, c := range p.Add("liar", honest, []string{"f"}, nil) {
			require.Equal(t, "liar", c.Owner)
		}
		p.Add("honest0", fmt.Sprint("honest", 1+i%2), nil, nil)
	}
	c := p.contrast("liar", "f")
	assert.Less(t, c.P, 1e-9)
	assert.EqualValues(t, 2000, c.Only)
	assert.InDelta(t, 1, p.contrast("honest0", "f").P, 1e-9)
}

// What is kept, returned and read again is what was heard.
func TestPairsAreKept(t *testing.T) {
	p := NewPairs(DefaultPolicy(), facts)
	p.Add("b", "a", []string{"f"}, []string{"g"})
	assert.Nil(t, p.Add("a", "a", nil, []string{"g"}), "an owner does not contradict itself")
	want := []Pair{{
		One: "a", Other: "b", Trials: 1, OnlyOne: map[string]uint64{"g": 1}, OnlyOther: map[string]uint64{"f": 1},
	}}
	taken := p.Take()
	assert.Equal(t, want, taken)
	assert.Empty(t, p.Take())
	p.GiveBack(taken)
	p.Add("a", "b", nil, []string{"f"})
	taken = p.Take()
	want[0].Trials, want[0].OnlyOther["f"] = 2, 2
	assert.Equal(t, want, taken)
	stored := Joined(taken, []Pair{{One: "a", Other: "c", Trials: 5}})
	p.Add("a", "b", nil, nil)
	p.Replace(stored)
	assert.EqualValues(t, 8, p.Trials("a"))
	assert.EqualValues(t, 3, p.Trials("b"))
	p.Forget("b")
	p.Forget("b")
	assert.EqualValues(t, 5, p.Trials("a"))
	assert.Zero(t, p.Trials("b"))
	assert.Empty(t, p.Take())
	assert.Equal(t, 1, p.n)
}

func TestWhatAContradictionSays(t *testing.T) {
	c := Contradiction{Fact: "showed findings", Only: 0, Others: 41, Trials: 512, P: 3e-9}
	assert.Equal(t, "of 512 trials that others ran, too, 0 showed findings only here and 41 only there (p = 3e-09)", c.String())
}
