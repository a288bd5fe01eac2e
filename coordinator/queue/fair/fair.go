// Package fair decides who gets the next free slot of a runner: first which person, by share, then which of that person's
// campaigns, by priority and share. It is a pure function of what runs and of whose turn it is.
//
// At either level the one with the fewest running trials for its weight is next. Among equals, as when there are fewer slots than
// campaigns, it is whoever's turn comes first: a turn is a virtual time that advances by the inverse of the weight with each trial
// that is granted (stride scheduling: Waldspurger and Weihl, MIT/LCS/TM-528, 1995). A newcomer begins at the latest turn of those
// who are there, so that nobody gets ahead by leaving and coming back, and whoever had nothing to run catches up a few turns only.
package fair

import (
	"cmp"
	"slices"
)

const (
	// unit is the advance of a turn by weight 1. Weights of campaigns are up to 1,000 × 8⁶, which is a little less.
	unit = 1 << 28
	// behind is how many of the longest steps somebody may catch up.
	behind = 4

	lowest = 3 // priorities are from -lowest on
)

// Claim is a campaign that competes for slots.
type Claim struct {
	Owner string
	// Share of the owner among all people; 0 is 1.
	Share uint64
	// Weight of the campaign among its owner's, see Weight.
	Weight uint64
	// Running is the number of its trials that are leased.
	Running uint64
	// Turn of the campaign, and OwnerTurn that of its owner, as this campaign knows it: the latest of the owner's campaigns counts.
	Turn, OwnerTurn uint64
}

// Weight returns the weight of a campaign with a priority from -3 to 3 and a share, of which 0 is 1.
func Weight(priority int32, share uint32) uint64 {
	w := max(uint64(share), 1)
	for range priority + lowest {
		w *= 8
	}
	return w
}

// side is a campaign, or a person with all of theirs, at one level.
type side struct {
	weight, running, turn uint64
	first                 int // index of the oldest claim
}

func step(weight uint64) uint64 { return max(unit/max(weight, 1), 1) }

// compare orders by who is next; floor is the earliest turn that counts.
func compare(a, b side, floor uint64) int {
	return cmp.Or(
		cmp.Compare(a.running*max(b.weight, 1), b.running*max(a.weight, 1)),
		cmp.Compare(max(a.turn, floor), max(b.turn, floor)), cmp.Compare(a.turn, b.turn), cmp.Compare(a.first, b.first))
}

// floor returns the earliest turn that counts among some.
func floor(all []side) uint64 {
	var latest, longest uint64
	for _, s := range all {
		latest, longest = max(latest, s.turn), max(longest, step(s.weight))
	}
	return latest - min(latest, behind*longest)
}

// Round is one state of the claims, from which slots are given one after the other.
type Round struct {
	// Claims, the oldest first; Served changes them.
	Claims []Claim
	people []side
	of     []int   // index of its owner by claim
	own    [][]int // claims by owner
}

// NewRound returns a round; it keeps the claims.
func NewRound(all []Claim) *Round {
	r := &Round{Claims: all, of: make([]int, len(all))}
	index := make(map[string]int, 8)
	for i, c := range all {
		k, known := index[c.Owner]
		if !known {
			k = len(r.people)
			index[c.Owner] = k
			r.people, r.own = append(r.people, side{first: i}), append(r.own, nil)
		}
		p := &r.people[k]
		p.weight, p.running, p.turn = max(p.weight, c.Share, 1), p.running+c.Running, max(p.turn, c.OwnerTurn)
		r.of[i], r.own[k] = k, append(r.own[k], i)
	}
	return r
}

// Next returns the index of the claim that gets the next slot, among those that may have one; -1 when there are none. Those that
// may have none still count for what their owners hold.
func (r *Round) Next(may func(i int) bool) int {
	person := best(r.people, func(k int) bool { return slices.ContainsFunc(r.own[k], may) })
	if person < 0 {
		return -1
	}
	own := r.campaigns(person)
	return own[best(own, func(k int) bool { return may(own[k].first) })].first
}

// campaigns returns the claims of an owner.
func (r *Round) campaigns(person int) []side {
	own := make([]side, len(r.own[person]))
	for k, i := range r.own[person] {
		c := r.Claims[i]
		own[k] = side{c.Weight, c.Running, c.Turn, i}
	}
	return own
}

// best returns the index of the first in order among those that may; -1 for none.
func best(all []side, may func(int) bool) int {
	earliest, found := floor(all), -1
	for k := range all {
		if (found < 0 || compare(all[k], all[found], earliest) < 0) && may(k) {
			found = k
		}
	}
	return found
}

// Served notes that the i-th claim got a slot: it changes that claim only.
func (r *Round) Served(i int) {
	c, p := &r.Claims[i], &r.people[r.of[i]]
	c.OwnerTurn = max(p.turn, floor(r.people)) + step(p.weight)
	c.Turn = max(c.Turn, floor(r.campaigns(r.of[i]))) + step(c.Weight)
	c.Running++
	p.turn = c.OwnerTurn
	p.running++
}

// Begin returns the turns of a newcomer of an owner among the claims that are there.
func Begin(all []Claim, owner string) (turn, ownerTurn uint64) {
	r := NewRound(all)
	var latest uint64
	for _, p := range r.people {
		latest = max(latest, p.turn)
	}
	k := slices.IndexFunc(all, func(c Claim) bool { return c.Owner == owner })
	if k < 0 {
		return 0, latest
	}
	for _, i := range r.own[r.of[k]] {
		turn = max(turn, all[i].Turn)
	}
	return turn, max(r.people[r.of[k]].turn, floor(r.people))
}
