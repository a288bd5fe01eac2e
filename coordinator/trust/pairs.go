package trust

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
)

const (
	// firstPairs is the number of an owner's repeated trials that are looked at first; further looks come at twice as many each.
	firstPairs = 8
	// maxPairs bounds the pairs of owners whose results are kept; what further pairs report is not compared.
	maxPairs = 65536
)

// Pair is what two owners reported on the same trials.
type Pair struct {
	// One and Other are the owners, One the first by name.
	One, Other string
	// Trials that both ran.
	Trials uint64
	// OnlyOne and OnlyOther count by fact the trials for which it held in the result of the one owner and not in the other's.
	OnlyOne, OnlyOther map[string]uint64
}

// Pairs compares the results of owners that ran the same trials. A trial is probabilistic, so two results of it may differ; but
// who of two honest owners shows a fact that the other does not is a coin that is tossed anew for each trial (Q. McNemar,
// Psychometrika 12, 1947, 153–157, as an exact test). No rates are compared, so trials need not be alike: it sees what is hidden
// in combinations that nobody else runs.
//
// An owner is accused only if the others contradict it also when any one of them is left out: nobody can make an honest owner look
// guilty alone. It is not safe for concurrent use.
type Pairs struct {
	policy Policy
	facts  int
	of     map[string]map[string]*contrast // by owner and other owner, both ways
	n      int                             // pairs of owners
	// fresh is what was added since Take.
	fresh map[[2]string]*Pair
	// looks that were taken of an owner.
	looks map[string]int
}

// contrast is what an owner has that the other one has not, and the reverse.
type contrast struct {
	trials     uint64
	more, less map[string]uint64
}

// NewPairs returns an empty table. facts is how many different facts there are at most.
func NewPairs(p Policy, facts int) *Pairs {
	return &Pairs{
		policy: p, facts: facts, of: map[string]map[string]*contrast{}, fresh: map[[2]string]*Pair{}, looks: map[string]int{},
	}
}

// Contradiction says in what the repetitions of an owner's trials differ from its own results.
type Contradiction struct {
	Owner, Fact string
	// Only and Others are of how many of the Trials the fact held for the owner's result only, and for the others' only.
	Only, Others uint64
	Trials       uint64
	// P is the probability that an honest owner has so many, or so few.
	P float64
}

// String says it in one line.
func (c Contradiction) String() string {
	return fmt.Sprintf("of %d trials that others ran, too, %d %s only here and %d only there (p = %.1g)", c.Trials, c.Only, c.Fact,
		c.Others, c.P)
}

// Add hears the facts of two results of a trial by two owners and returns contradictions, at most one of each.
func (p *Pairs) Add(one, other string, ofOne, ofOther []string) (all []Contradiction) {
	if one == other {
		return nil
	}
	if one > other {
		one, other, ofOne, ofOther = other, one, ofOther, ofOne
	}
	result := Pair{One: one, Other: other, Trials: 1, OnlyOne: without(ofOne, ofOther), OnlyOther: without(ofOther, ofOne)}
	if !p.merge(result) {
		return nil
	}
	key := [2]string{one, other}
	f := p.fresh[key]
	if f == nil {
		f = &Pair{One: one, Other: other}
		p.fresh[key] = f
	}
	f.add(result)
	for _, owner := range key {
		if c := p.look(owner); c != nil {
			all = append(all, *c)
		}
	}
	return all
}

func without(facts, others []string) map[string]uint64 {
	var only map[string]uint64
	for _, f := range facts {
		if !slices.Contains(others, f) {
			if only == nil {
				only = map[string]uint64{}
			}
			only[f] = 1
		}
	}
	return only
}

func sum(to, from map[string]uint64) map[string]uint64 {
	if to == nil && len(from) > 0 {
		to = map[string]uint64{}
	}
	for k, n := range from {
		to[k] += n
	}
	return to
}

func (p *Pair) add(other Pair) {
	p.Trials, p.OnlyOne, p.OnlyOther = p.Trials+other.Trials, sum(p.OnlyOne, other.OnlyOne), sum(p.OnlyOther, other.OnlyOther)
}

// merge adds a pair; false when there are too many.
func (p *Pairs) merge(pair Pair) bool {
	if p.of[pair.One][pair.Other] == nil {
		if p.n >= maxPairs {
			return false
		}
		p.n++
	}
	p.side(pair.One, pair.Other, pair.Trials, pair.OnlyOne, pair.OnlyOther)
	p.side(pair.Other, pair.One, pair.Trials, pair.OnlyOther, pair.OnlyOne)
	return true
}

func (p *Pairs) side(owner, other string, trials uint64, more, less map[string]uint64) {
	others := p.of[owner]
	if others == nil {
		others = map[string]*contrast{}
		p.of[owner] = others
	}
	c := others[other]
	if c == nil {
		c = &contrast{}
		others[other] = c
	}
	c.trials, c.more, c.less = c.trials+trials, sum(c.more, more), sum(c.less, less)
}

// Trials returns the number of an owner's trials that another one ran, too.
func (p *Pairs) Trials(owner string) (n uint64) {
	for _, c := range p.of[owner] {
		n += c.trials
	}
	return n
}

// Forget forgets everything of an owner.
func (p *Pairs) Forget(owner string) {
	for other := range p.of[owner] {
		delete(p.of[other], owner)
		p.n--
	}
	delete(p.of, owner)
	delete(p.looks, owner)
	maps.DeleteFunc(p.fresh, func(k [2]string, _ *Pair) bool { return k[0] == owner || k[1] == owner })
}

// Take returns what was added since the last call, by owners.
func (p *Pairs) Take() []Pair {
	var all []Pair
	for _, f := range p.fresh {
		all = append(all, *f)
	}
	clear(p.fresh)
	slices.SortFunc(all, comparePairs)
	return all
}

// GiveBack undoes a Take whose result was not kept.
func (p *Pairs) GiveBack(all []Pair) {
	for _, pair := range all {
		key := [2]string{pair.One, pair.Other}
		if f := p.fresh[key]; f != nil {
			f.add(pair)
		} else {
			p.fresh[key] = &pair
		}
	}
}

// Replace makes all the whole of what was added before the last Take. What was added since stays.
func (p *Pairs) Replace(all []Pair) {
	p.of, p.n = map[string]map[string]*contrast{}, 0
	for _, pair := range all {
		p.merge(pair)
	}
	for _, f := range p.fresh {
		p.merge(*f)
	}
}

// Joined returns the sum of both, by owners.
func Joined(a, b []Pair) []Pair {
	by := map[[2]string]*Pair{}
	for _, pair := range slices.Concat(a, b) {
		key := [2]string{pair.One, pair.Other}
		if by[key] == nil {
			by[key] = &Pair{One: pair.One, Other: pair.Other}
		}
		by[key].add(pair)
	}
	all := make([]Pair, 0, len(by))
	for _, pair := range by {
		all = append(all, *pair)
	}
	slices.SortFunc(all, comparePairs)
	return all
}

func comparePairs(a, b Pair) int {
	return cmp.Or(cmp.Compare(a.One, b.One), cmp.Compare(a.Other, b.Other))
}

// look compares an owner with the others, if it has twice as many trials as at the last look. The k-th look has the number k
// whatever came between, so a look that is taken again after a restart costs nothing.
func (p *Pairs) look(owner string) *Contradiction {
	others := p.of[owner]
	k := bits.Len64(p.Trials(owner) / firstPairs)
	if k <= p.looks[owner] || len(others) < p.policy.Others {
		return nil
	}
	p.looks[owner] = k
	// The terms 6/(πk)² add up to 1 over all looks; each has two sides of each fact.
	level := p.policy.Error * 6 / (math.Pi * math.Pi * float64(k*k)) / float64(2*p.facts)
	var worst *Contradiction
	seen := map[string]bool{}
	for _, c := range others {
		for _, m := range []map[string]uint64{c.more, c.less} {
			for fact := range m {
				seen[fact] = true
			}
		}
	}
	for _, fact := range slices.Sorted(maps.Keys(seen)) {
		if c := p.contrast(owner, fact); c.P <= level && (worst == nil || c.P < worst.P) {
			worst = &c
		}
	}
	return worst
}

// contrast compares one fact. Its P is the largest that leaving out one of the others gives.
func (p *Pairs) contrast(owner, fact string) Contradiction {
	c := Contradiction{Owner: owner, Fact: fact, Trials: p.Trials(owner), P: 1}
	for _, o := range p.of[owner] {
		c.Only, c.Others = c.Only+o.more[fact], c.Others+o.less[fact]
	}
	side := func(heads func(*contrast) uint64, tails func(*contrast) uint64, allHeads, allTails uint64) (worst float64) {
		for _, o := range p.of[owner] {
			h, t := allHeads-heads(o), allTails-tails(o)
			worst = max(worst, binomial(h, h+t, p.policy.Odds/(1+p.policy.Odds)))
		}
		return worst
	}
	more := func(o *contrast) uint64 { return o.more[fact] }
	less := func(o *contrast) uint64 { return o.less[fact] }
	c.P = min(side(more, less, c.Only, c.Others), side(less, more, c.Others, c.Only))
	return c
}

// binomial returns the probability of at least h heads of n tosses.
func binomial(h, n uint64, p float64) (tail float64) {
	if h == 0 {
		return 1
	}
	for i := h; i <= n; i++ {
		tail += math.Exp(choose(n, i) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return min(1, tail)
}
