package jfrcheck

import (
	"hash/maphash"
	"math"
	"slices"

	"misstep/runner/recording"
)

// mostKeys bounds the methods, callers and stacks of a profile, each; one has 400 bytes.
const mostKeys = 1 << 17

// keyKind is what a share is of.
type keyKind uint8

const (
	selfOf   keyKind = iota // samples with the method innermost
	totalOf                 // samples with the method anywhere
	callerOf                // samples with the call anywhere
	stacksOf                // samples with the stack
	keyKinds
)

var kindNames = [keyKinds]string{"self", "total", "caller", "stack"}

// key is what has a share: a method, a call or, by its hash, a stack.
type key struct {
	method, caller string
	hash           uint64
}

// profile is the samples of one sampler in one recording.
type profile struct {
	seed   maphash.Seed
	blocks blocks
	counts [keyKinds]map[key]*counts
	stacks map[uint64][]string
	// Of the samples, those that have no whole stack.
	lacking Counts
	usable  uint64
	full    bool
	// timeless samples have no times: they are in no blocks.
	timeless bool
	// Of this chunk.
	names    map[*recording.Method]string
	counters map[*recording.Stack][]*counts
}

func newProfile(seed maphash.Seed) *profile {
	p := &profile{
		seed: seed, stacks: map[uint64][]string{}, names: map[*recording.Method]string{},
		counters: map[*recording.Stack][]*counts{},
	}
	for i := range p.counts {
		p.counts[i] = map[key]*counts{}
	}
	return p
}

// add takes a sample. Those that are truncated would lack callers, and are left out with those that have no stack.
func (p *profile) add(e *recording.Event) {
	p.lacking.Samples++
	if e.Stack == nil || len(e.Stack.Frames) == 0 {
		p.lacking.Empty++
		return
	}
	if e.Stack.Truncated || e.Stack.Cut {
		p.lacking.Truncated++
		return
	}
	p.usable++
	block := p.blocks.at(e.StartNanos)
	p.blocks.all[block]++
	for _, c := range p.countersOf(e.Stack) {
		c.add(&p.blocks, block)
	}
}

// countersOf returns what a sample with a stack counts in. The events of a chunk share stacks.
func (p *profile) countersOf(s *recording.Stack) []*counts {
	if list, known := p.counters[s]; known {
		return list
	}
	var list []*counts
	add := func(kind keyKind, k key) {
		if c := p.counter(kind, k); c != nil {
			list = append(list, c)
		}
	}
	seen := map[key]bool{} // a recursion counts once
	var hash maphash.Hash
	hash.SetSeed(p.seed)
	below := ""
	for _, f := range slices.Backward(s.Frames) {
		name := p.name(f.Method)
		_, _ = hash.WriteString(name)
		_ = hash.WriteByte(0)
		for kind, k := range map[keyKind]key{totalOf: {method: name}, callerOf: {method: name, caller: below}} {
			if !seen[k] && (kind == totalOf || below != "") {
				seen[k] = true
				add(kind, k)
			}
		}
		below = name
	}
	sum := hash.Sum64()
	add(selfOf, key{method: below})
	add(stacksOf, key{hash: sum})
	if _, known := p.stacks[sum]; !known && len(p.stacks) < mostKeys {
		p.stacks[sum] = p.text(s)
	}
	p.counters[s] = list
	return list
}

func (p *profile) name(m *recording.Method) string {
	name, known := p.names[m]
	if !known {
		name = lastingName(m)
		p.names[m] = name
	}
	return name
}

// text names the methods of a stack, which it shares with the other stacks.
func (p *profile) text(s *recording.Stack) []string {
	names := make([]string, min(len(s.Frames), mostFrames))
	for i := range names {
		names[i] = p.name(s.Frames[i].Method)
	}
	return names
}

// counter returns the counts of a key, nil if there are too many.
func (p *profile) counter(kind keyKind, k key) *counts {
	c := p.counts[kind][k]
	if c == nil {
		if len(p.counts[kind]) >= mostKeys {
			p.full = true
			return nil
		}
		c = &counts{shift: p.blocks.shift}
		p.counts[kind][k] = c
	}
	return c
}

// estimate is a share with what it varies by.
type estimate struct {
	samples  uint64
	share    float64
	variance float64 // of the share
	freedom  float64 // degrees of freedom of the variance
}

// share estimates the share of a key by batch means: the ratio of its samples and all, and the variance of the blocks around it.
// The variance is at least that of independent samples with one sample more on each side, so that a key that a profile lacks, or
// that blocks show evenly by chance, is not taken for certain.
func (p *profile) share(kind keyKind, k key) estimate {
	n := float64(p.usable)
	if n == 0 {
		return estimate{variance: math.Inf(1), freedom: 1}
	}
	e := estimate{freedom: float64(max(p.blocks.count-1, 1))}
	if p.timeless {
		e.freedom = max(n-1, 1)
	}
	c := p.counts[kind][k]
	if c != nil {
		c.update(&p.blocks)
		e.samples = c.total
	}
	e.share = float64(e.samples) / n
	smooth := (float64(e.samples) + 1) / (n + 2)
	e.variance = smooth * (1 - smooth) / n
	if c == nil || p.blocks.count < 2 {
		return e
	}
	var sum float64
	for i := range p.blocks.count {
		residual := float64(c.in[i]) - e.share*float64(p.blocks.all[i])
		sum += residual * residual
	}
	m := float64(p.blocks.count)
	e.variance = max(e.variance, sum*m/(m-1)/(n*n))
	return e
}
