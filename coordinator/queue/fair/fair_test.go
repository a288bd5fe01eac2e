package fair_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"misstep/coordinator/queue/fair"
)

// fleet plays slots over time: trials of campaign i take about length[i] steps.
type fleet struct {
	claims []fair.Claim
	left   []int // trials to run
	length []int
	slots  []slot
	now    int
	random *rand.Rand
	// grants of each campaign, and the steps that its trials ran.
	grants, ran []int
	// passed is how often a campaign that has trials and runs none was passed over by others of its owner's since it was served,
	// passedOwner how often one whose owner runs none by those of others; most are the most ever.
	passed, passedOwner, most, mostOwner []int
}

type slot struct{ campaign, until int }

func newFleet(claims []fair.Claim, slots int, seed uint64) *fleet {
	f := &fleet{random: rand.New(rand.NewPCG(seed, 1))}
	for range slots {
		f.slots = append(f.slots, slot{campaign: -1})
	}
	for _, c := range claims {
		f.add(c, 1<<40, 10)
	}
	return f
}

func (f *fleet) add(c fair.Claim, left, length int) {
	c.Turn, c.OwnerTurn = fair.Begin(f.claims, c.Owner)
	f.claims, f.left, f.length = append(f.claims, c), append(f.left, left), append(f.length, length)
	f.grants, f.ran = append(f.grants, 0), append(f.ran, 0)
	f.passed, f.passedOwner = append(f.passed, 0), append(f.passedOwner, 0)
	f.most, f.mostOwner = append(f.most, 0), append(f.mostOwner, 0)
}

// step ends trials that are over and fills all free slots.
func (f *fleet) step(t require.TestingT) {
	f.now++
	now := f.now
	for k, s := range f.slots {
		if s.campaign >= 0 && s.until <= now {
			f.claims[s.campaign].Running--
			f.slots[k].campaign = -1
		}
	}
	round := fair.NewRound(f.claims)
	for k, s := range f.slots {
		if s.campaign >= 0 {
			f.ran[s.campaign]++
			continue
		}
		has := func(i int) bool { return f.left[i] > 0 }
		i := round.Next(has)
		if i < 0 {
			for j := range f.claims {
				require.False(t, has(j), "a slot stays free and campaign %d has trials", j)
			}
			continue
		}
		require.True(t, has(i))
		round.Served(i)
		f.left[i]--
		f.grants[i]++
		f.ran[i]++
		f.slots[k] = slot{i, now + 1 + f.random.IntN(2*f.length[i])}
		f.passOver(i, has)
	}
}

// passOver notes who was passed over when the i-th campaign was served.
func (f *fleet) passOver(i int, has func(int) bool) {
	running := map[string]uint64{}
	for _, c := range f.claims {
		running[c.Owner] += c.Running
	}
	for j, c := range f.claims {
		own := c.Owner == f.claims[i].Owner
		switch {
		case j == i || !has(j) || c.Running > 0:
			f.passed[j] = 0
		case own:
			f.passed[j]++
		}
		switch {
		case own || !has(j) || running[c.Owner] > 0:
			f.passedOwner[j] = 0
		default:
			f.passedOwner[j]++
		}
		f.most[j], f.mostOwner[j] = max(f.most[j], f.passed[j]), max(f.mostOwner[j], f.passedOwner[j])
	}
}

func (f *fleet) run(t require.TestingT, steps int) {
	for range steps {
		f.step(t)
	}
}

func drawClaims(t *rapid.T) (all []fair.Claim) {
	shares := map[string]uint64{}
	for i := range rapid.IntRange(1, 8).Draw(t, "campaigns") {
		owner := fmt.Sprint("p", rapid.IntRange(0, 3).Draw(t, fmt.Sprint("owner", i)))
		if shares[owner] == 0 {
			shares[owner] = rapid.Uint64Range(1, 5).Draw(t, "share of "+owner)
		}
		weight := fair.Weight(rapid.Int32Range(-1, 1).Draw(t, fmt.Sprint("priority", i)),
			rapid.Uint32Range(0, 4).Draw(t, fmt.Sprint("share", i)))
		all = append(all, fair.Claim{Owner: owner, Share: shares[owner], Weight: weight})
	}
	return all
}

// No slot stays free while a campaign has trials, whoever comes and goes.
func TestWorkConserving(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newFleet(drawClaims(t), rapid.IntRange(1, 30).Draw(t, "slots"), rapid.Uint64().Draw(t, "seed"))
		for i := range f.left {
			f.left[i] = rapid.IntRange(0, 200).Draw(t, fmt.Sprint("left", i))
		}
		f.run(t, 300)
	})
}

// Whoever has trials and runs none is passed over a bounded number of times, in any mixture of weights and lengths, and although
// people with new campaigns come all the time.
func TestNobodyStarves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		claims := drawClaims(t)
		f := newFleet(claims, rapid.IntRange(1, 12).Draw(t, "slots"), rapid.Uint64().Draw(t, "seed"))
		for i := range f.length {
			f.length[i] = rapid.SampledFrom([]int{1, 3, 30}).Draw(t, fmt.Sprint("length", i))
		}
		comes := rapid.Bool().Draw(t, "newcomers")
		var shares, newcomers uint64
		weights, counted := map[string]uint64{}, map[string]bool{}
		for _, c := range claims {
			weights[c.Owner] += c.Weight
			if !counted[c.Owner] {
				shares, counted[c.Owner] = shares+c.Share, true
			}
		}
		for now := range 1500 {
			if comes && now%25 == 0 {
				newcomers++
				f.add(fair.Claim{Owner: fmt.Sprint("new", now), Share: 1, Weight: fair.Weight(0, 1)}, 2, 1)
			}
			f.step(t)
		}
		for i, c := range claims {
			require.LessOrEqual(t, uint64(f.most[i]), 8+8*weights[c.Owner]/c.Weight, "campaign %d of %v", i, c)
			require.LessOrEqual(t, uint64(f.mostOwner[i]), 8+8*(shares+newcomers)/c.Share, "the owner of campaign %d of %v", i, c)
		}
	})
}

// The same claims have the same answer, which changes nothing.
func TestDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newFleet(drawClaims(t), rapid.IntRange(1, 12).Draw(t, "slots"), rapid.Uint64().Draw(t, "seed"))
		f.run(t, rapid.IntRange(0, 50).Draw(t, "steps"))
		before := append([]fair.Claim(nil), f.claims...)
		anyone := func(int) bool { return true }
		require.Equal(t, fair.NewRound(before).Next(anyone), fair.NewRound(f.claims).Next(anyone))
		require.Equal(t, before, f.claims)
	})
}

// Where there are slots enough, each person has slots in proportion to the share, however long the trials are and however many
// campaigns they are spread over; and so has each campaign of the person's.
func TestSlotsAreDividedByShare(t *testing.T) {
	one := fair.Weight(0, 1)
	f := newFleet([]fair.Claim{
		{Owner: "anna", Share: 1, Weight: one},
		{Owner: "ben", Share: 3, Weight: one},
		{Owner: "ben", Share: 3, Weight: 2 * one},
		{Owner: "cleo", Share: 1, Weight: one},
		{Owner: "cleo", Share: 1, Weight: fair.Weight(-1, 1)},
	}, 50, 1)
	f.length = []int{3, 30, 7, 50, 5}
	f.run(t, 20_000)
	for i, want := range []float64{10, 10, 20, 10. * 8 / 9, 10. / 9} {
		assert.InDelta(t, want, float64(f.ran[i])/20_000, 0.7, "campaign %d", i)
	}
}

// With one slot, turns go by share.
func TestTurnsGoByShare(t *testing.T) {
	one := fair.Weight(0, 1)
	f := newFleet([]fair.Claim{
		{Owner: "anna", Share: 1, Weight: one}, {Owner: "ben", Share: 3, Weight: one}, {Owner: "ben", Share: 3, Weight: 2 * one},
	}, 1, 1)
	f.run(t, 40_000)
	all := f.grants[0] + f.grants[1] + f.grants[2]
	for i, want := range []float64{0.25, 0.25, 0.5} {
		assert.InDelta(t, want, float64(f.grants[i])/float64(all), 0.01, "campaign %d", i)
	}
}

// Many campaigns give nobody more than one does.
func TestManyCampaignsAreOnePerson(t *testing.T) {
	one := fair.Weight(0, 1)
	claims := []fair.Claim{{Owner: "anna", Weight: one}}
	for range 20 {
		claims = append(claims, fair.Claim{Owner: "ben", Weight: one})
	}
	for _, slots := range []int{1, 10} {
		f := newFleet(claims, slots, 1)
		f.run(t, 10_000)
		assert.InDelta(t, 0.5, float64(f.ran[0])/float64(10_000*slots), 0.05, "%d slots", slots)
	}
}

// Whoever had nothing to run for long does not then have all slots for long.
func TestCatchingUpIsBounded(t *testing.T) {
	one := fair.Weight(0, 1)
	f := newFleet([]fair.Claim{{Owner: "anna", Weight: one}, {Owner: "ben", Weight: one}}, 1, 1)
	f.left[0] = 0
	f.run(t, 10_000)
	f.left[0] = 1 << 30
	f.run(t, 10_000)
	assert.LessOrEqual(t, f.mostOwner[1], 6)
	assert.Positive(t, f.mostOwner[1])
}

// However many people come with one trial each, those who are there have their turns.
func TestNewcomersGetNobodyElsesTurn(t *testing.T) {
	f := newFleet([]fair.Claim{{Owner: "anna", Weight: fair.Weight(0, 1)}}, 1, 1)
	f.length[0] = 1
	for i := range 400 {
		if i%3 == 0 {
			f.add(fair.Claim{Owner: fmt.Sprint("new", i), Weight: fair.Weight(0, 1)}, 1, 1)
		}
		f.step(t)
	}
	assert.Greater(t, f.grants[0], 100)
	assert.Less(t, f.mostOwner[0], 10)
}

func TestWeights(t *testing.T) {
	assert.EqualValues(t, 512, fair.Weight(0, 0))
	assert.EqualValues(t, 512, fair.Weight(0, 1))
	assert.EqualValues(t, 1, fair.Weight(-3, 1))
	assert.EqualValues(t, 1000<<18, fair.Weight(3, 1000))
	assert.Equal(t, -1, fair.NewRound(nil).Next(func(int) bool { return true }))
	assert.Equal(t, -1, fair.NewRound([]fair.Claim{{}}).Next(func(int) bool { return false }))
}

// A grant costs little beside its transaction, with one campaign and with a thousand.
func BenchmarkGrant(b *testing.B) {
	for _, n := range []int{1, 10, 1000} {
		var claims []fair.Claim
		for i := range n {
			claims = append(claims, fair.Claim{Owner: fmt.Sprint("p", i%20), Weight: fair.Weight(0, uint32(i%7))})
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for range b.N {
				r := fair.NewRound(claims)
				r.Served(r.Next(func(int) bool { return true }))
			}
		})
	}
}
