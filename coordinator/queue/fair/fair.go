// Package fair decides who gets the next free slot of a runner: first which person, by share, then which of that person's
// campaigns, by priority and share. It is a pure function of what runs and of whose turn it is.
//
// At either level the one with the fewest running trials for its weight is next. Among equals, as when there are fewer slots than
// campaigns, it is whoever's turn comes first: a turn is a virtual time that advances by the inverse of the weight with each trial
// that is granted (stride scheduling: Waldspurger and Weihl, MIT/LCS/TM-528, 1995). A newcomer begins at the latest turn of those
// who are there, so that nobody gets ahead by leaving and coming back, and whoever had nothing to run catches up a few turns only.
package fair

import "cmp"

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

// owners returns the people, in the order of their oldest claims.
func owners(all []Claim) (people []side, of map[string]int) {
	of = map[string]int{}
	for i, c := range all {
		k, known := of[c.Owner]
		if !known {
			k = len(people)
			of[c.Owner] = k
			people = append(people, side{first: i})
		}
		p := &people[k]
		p.weight, p.running, p.turn = max(p.weight, c.Share, 1), p.running+c.Running, max(p.turn, c.OwnerTurn)
	}
	return people, of
}

// campaigns returns the claims of an owner.
func campaigns(all []Claim, owner string) (own []side) {
	for i, c := range all {
		if c.Owner == owner {
			own = append(own, side{c.Weight, c.Running, c.Turn, i})
		}
	}
	return own
}

// Next returns the index of the claim that gets the next slot, among those that may have one; -1 when there are none. The oldest
// claims come first. Those that may have none still count for what their owners hold.
func Next(all []Claim, may func(i int) bool) int {
	people, of := owners(all)
	able := make([]bool, len(people))
	for i, c := range all {
		able[of[c.Owner]] = able[of[c.Owner]] || may(i)
	}
	person := best(people, func(k int) bool { return able[k] })
	if person < 0 {
		return -1
	}
	own := campaigns(all, all[people[person].first].Owner)
	chosen := best(own, func(k int) bool { return may(own[k].first) })
	return own[chosen].first
}

// best returns the index of the first in order among those that may; -1 for none.
func best(all []side, may func(int) bool) int {
	lowest, found := floor(all), -1
	for k := range all {
		if may(k) && (found < 0 || compare(all[k], all[found], lowest) < 0) {
			found = k
		}
	}
	return found
}

// Served notes that the i-th claim got a slot: it changes that claim only.
func Served(all []Claim, i int) {
	c := &all[i]
	people, of := owners(all)
	p := people[of[c.Owner]]
	own := campaigns(all, c.Owner)
	c.OwnerTurn = max(p.turn, floor(people)) + step(p.weight)
	c.Turn = max(c.Turn, floor(own)) + step(c.Weight)
	c.Running++
}

// Begin returns the turns of a newcomer of an owner among the claims that are there.
func Begin(all []Claim, owner string) (turn, ownerTurn uint64) {
	var latest uint64
	for _, c := range all {
		latest = max(latest, c.OwnerTurn)
		if c.Owner == owner {
			turn, ownerTurn = max(turn, c.Turn), max(ownerTurn, c.OwnerTurn)
		}
	}
	people, of := owners(all)
	if _, known := of[owner]; known {
		return turn, max(ownerTurn, floor(people))
	}
	return 0, latest
}
