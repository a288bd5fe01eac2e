// Package trust decides which owners of runners report something else than the others do, beyond chance.
//
// Trials of the same combination have the same rates of outcomes wherever they run, but for what machines differ in. So the trials
// of one owner are compared with those of all others, combination by combination: how many showed a finding, how many proved
// nothing, how many failed. The test is exact (the noncentral hypergeometric distribution, R. A. Fisher, 1935, convolved over the
// combinations), allows odds that differ by a factor, and spends its probability of error over all the looks that are ever taken.
// An owner is accused only if it differs from the others also when any one of them is left out.
//
// A Judge is a pure function of the results that it is given, in their order. It is not safe for concurrent use.
package trust

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Class of a result.
type Class int

// The classes. A result has one of them.
const (
	// Quiet is a trial that proved something and showed no finding.
	Quiet Class = iota
	// Finding is a trial that showed one.
	Finding
	// Unproved is a trial that proved nothing: void, or a failure of the application.
	Unproved
	// Failed is no result: an infrastructure failure, an outcome that was refused.
	Failed
	classes
)

// String returns what such trials did, for people.
func (c Class) String() string {
	return [classes]string{"showed no finding", "showed findings", "proved nothing", "failed"}[c]
}

// Policy is how a Judge decides.
type Policy struct {
	// Error is the probability that an honest owner is ever accused.
	Error float64
	// Odds is the factor by which the odds of honest owners may differ from the others', as machines do; at least 1.
	Odds float64
	// Others is the least number of other owners: of two that disagree nobody knows which one is right.
	Others int
}

// DefaultPolicy accuses one of ten thousand honest owners, ever, and lets odds differ by a factor of two.
func DefaultPolicy() Policy { return Policy{Error: 1e-4, Odds: 2, Others: 2} }

const (
	// firstLook is the number of an owner's trials that are compared first; each further look takes twice as many new ones as the
	// one before, up to lastLook, which bounds what a look costs.
	firstLook = 32
	lastLook  = 4096
	// maxCombinations and maxOwners bound the memory of a Judge; results beyond them are not compared.
	maxCombinations = 4096
	maxOwners       = 4096
	// maxLeftOut is how many of the others, those with most trials, are left out in turn.
	maxLeftOut = 16
)

// counts of trials by class.
type counts [classes]uint64

func (c *counts) sum() (n uint64) {
	for _, k := range c {
		n += k
	}
	return n
}

// record is what an owner reported.
type record struct {
	looks int
	block map[string]*counts // by combination, since the last look
	size  int                // of the block
	// before are the results of all blocks that were looked at.
	before map[string]*counts
}

// Judge compares owners.
type Judge struct {
	policy Policy
	owners map[string]*record
	total  map[string]*counts // of all owners, by combination
}

// New returns a judge that has heard nothing.
func New(p Policy) *Judge {
	return &Judge{policy: p, owners: map[string]*record{}, total: map[string]*counts{}}
}

// Accusation says in what an owner disagrees with the others.
type Accusation struct {
	Owner string
	Class Class
	// Has and Expected are how many of its Trials were of the class, and how many the others' rates let expect.
	Has      uint64
	Expected float64
	Trials   uint64
	// P is the probability that an honest owner has so many, or so few.
	P float64
}

// String says it in one line.
func (a Accusation) String() string {
	return fmt.Sprintf("of %d trials %d %s, where the trials of others let expect %.1f (p = %.1g)", a.Trials, a.Has, a.Class,
		a.Expected, a.P)
}

// Add hears a result and returns an accusation of its owner, if there is one now.
func (j *Judge) Add(owner, combination string, class Class) *Accusation {
	all := j.total[combination]
	if all == nil {
		if len(j.total) >= maxCombinations {
			return nil
		}
		all = &counts{}
		j.total[combination] = all
	}
	r := j.owners[owner]
	if r == nil {
		if len(j.owners) >= maxOwners {
			return nil
		}
		r = &record{block: map[string]*counts{}, before: map[string]*counts{}}
		j.owners[owner] = r
	}
	all[class]++
	at(r.block, combination)[class]++
	if r.size++; r.size < min(firstLook<<min(r.looks, 16), lastLook) || len(j.owners) <= j.policy.Others {
		return nil
	}
	return j.look(owner, r)
}

// Forget forgets everything of an owner, whose results are no longer compared with those of others either.
func (j *Judge) Forget(owner string) {
	r := j.owners[owner]
	if r == nil {
		return
	}
	delete(j.owners, owner)
	for _, m := range []map[string]*counts{r.block, r.before} {
		for combination, c := range m {
			for k := range c {
				j.total[combination][k] -= c[k]
			}
		}
	}
}

func at(m map[string]*counts, combination string) *counts {
	c := m[combination]
	if c == nil {
		c = &counts{}
		m[combination] = c
	}
	return c
}

func add(to, c *counts) {
	for k := range c {
		to[k] += c[k]
	}
}

// stratum is the 2×2 table of a class in one combination: the owner's trials of this block, and the others' trials.
type stratum struct{ hits, trials, otherHits, otherTrials uint64 }

// look compares a block, which ends with it.
func (j *Judge) look(owner string, r *record) (worst *Accusation) {
	r.looks++
	k := float64(r.looks)
	// The terms 6/(πk)² add up to 1 over all looks; each has two sides of three classes, as the fourth follows from them.
	level := j.policy.Error * 6 / (math.Pi * math.Pi * k * k) / 6
	for _, class := range []Class{Finding, Unproved, Failed} {
		a := j.compare(r, class, nil)
		if a == nil || a.P > level || worst != nil && a.P >= worst.P {
			continue
		}
		if a.P = j.leastAgreed(r, class, a.P, level); a.P <= level {
			a.Owner = owner
			worst = a
		}
	}
	for combination, c := range r.block {
		add(at(r.before, combination), c)
	}
	r.block, r.size = map[string]*counts{}, 0
	return worst
}

// leastAgreed returns the largest P that leaving one other owner out gives, from p, and stops at one above the level. Whoever runs
// most of the trials would otherwise make the honest ones look guilty by lying.
func (j *Judge) leastAgreed(r *record, class Class, p, level float64) float64 {
	type other struct {
		*record
		trials uint64
	}
	var others []other
	for _, o := range j.owners {
		if o == r {
			continue
		}
		n := uint64(0)
		for combination := range r.block {
			c := o.of(combination)
			n += c.sum()
		}
		others = append(others, other{o, n})
	}
	slices.SortFunc(others, func(a, b other) int { return cmp.Compare(b.trials, a.trials) })
	for _, o := range others[:min(len(others), maxLeftOut)] {
		a := j.compare(r, class, o.record)
		if a == nil {
			return 1 // nobody else ran it
		}
		if p = max(p, a.P); p > level {
			break
		}
	}
	return p
}

// of returns the counts of a combination.
func (r *record) of(combination string) (sum counts) {
	for _, c := range []*counts{r.block[combination], r.before[combination]} {
		if c != nil {
			add(&sum, c)
		}
	}
	return sum
}

// compare compares the block of an owner with all others, or all but one.
func (j *Judge) compare(r *record, class Class, but *record) *Accusation {
	var tables []stratum
	a := &Accusation{Class: class}
	for combination, own := range r.block {
		others := *j.total[combination]
		for _, left := range []*record{r, but} {
			if left != nil {
				c := left.of(combination)
				for k := range others {
					others[k] -= c[k]
				}
			}
		}
		s := stratum{own[class], own.sum(), others[class], others.sum()}
		if s.otherTrials == 0 {
			continue // nobody else ran it
		}
		tables = append(tables, s)
		a.Has, a.Trials = a.Has+s.hits, a.Trials+s.trials
		a.Expected += float64(s.trials) * float64(s.otherHits) / float64(s.otherTrials)
	}
	if len(tables) == 0 {
		return nil
	}
	slices.SortFunc(tables, func(x, y stratum) int { return int(x.trials) - int(y.trials) }) // at most lastLook
	a.P = min(tail(tables, j.policy.Odds, true), tail(tables, 1/j.policy.Odds, false))
	return a
}
