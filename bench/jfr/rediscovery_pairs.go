package main

import (
	"cmp"
	"slices"

	"misstep/agent"
	"misstep/runner/judge/shadow"
)

// pairs counts the instants of one run by sampler and forms.
type pairs struct {
	tap     *agent.Tap
	of      bugCase
	variant string
	// begin is the first call of a handler, on the tap's monotonic clock.
	begin uint64
	found map[pair]*pair // by the forms
}

func newPairs(tap *agent.Tap, of bugCase, variant string) *pairs {
	p := &pairs{tap: tap, of: of, variant: variant, found: map[pair]*pair{}}
	for i, c := range tap.Calls {
		if i == 0 || c.BeginNanos < p.begin {
			p.begin = c.BeginNanos
		}
	}
	return p
}

func (p *pairs) add(at shadow.Instant) {
	k := pair{Sampler: at.Sampler, Walked: formOf(at.Walked, at.Call, p.tap, p.of), Sampled: form{Outcome: noTrace}}
	if at.Sampler == "" {
		k.Sampler = p.samplerOf(at.Call.Signal)
	} else {
		k.Sampled = formOf(&at.Sampled, at.Call, p.tap, p.of)
	}
	first := float64(at.Call.BeginNanos-p.begin) / 1e9
	seen := p.found[k]
	if seen == nil {
		seen = &pair{Sampler: k.Sampler, Walked: k.Walked, Sampled: k.Sampled, First: first}
		p.found[k] = seen
	}
	seen.Count++
	seen.First = min(seen.First, first)
}

// samplerOf is the sampler that a signal's handler belongs to.
func (p *pairs) samplerOf(signal uint32) string {
	switch {
	case p.variant != jfrVariant:
		return p.variant
	case signal == p.tap.Signals[0]:
		return cpuTimeSample
	}
	return executionSample
}

// sorted returns the most frequent pairs first.
func (p *pairs) sorted() []pair {
	all := make([]pair, 0, len(p.found))
	for _, v := range p.found {
		all = append(all, *v)
	}
	slices.SortFunc(all, func(a, b pair) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Sampler, b.Sampler), cmp.Compare(a.Walked.text(), b.Walked.text()),
			cmp.Compare(a.Sampled.text(), b.Sampled.text()))
	})
	return all
}
