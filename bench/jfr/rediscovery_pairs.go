package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"misstep/agent"
	misstepv1 "misstep/proto/misstep/v1"
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
	// untraced are calls without a sample, spans the times from each sampler's first sample to its last.
	untraced []shadow.Instant
	spans    map[string][2]uint64
}

func newPairs(tap *agent.Tap, of bugCase, variant string) *pairs {
	p := &pairs{tap: tap, of: of, variant: variant, found: map[pair]*pair{}, spans: map[string][2]uint64{}}
	for i, c := range tap.Calls {
		if i == 0 || c.BeginNanos < p.begin {
			p.begin = c.BeginNanos
		}
	}
	return p
}

func (p *pairs) add(at shadow.Instant) {
	if at.Sampler == "" {
		p.untraced = append(p.untraced, at)
		return
	}
	span, seen := p.spans[at.Sampler]
	if !seen {
		span[0] = at.Call.BeginNanos
	}
	p.spans[at.Sampler] = [2]uint64{min(span[0], at.Call.BeginNanos), max(span[1], at.Call.BeginNanos)}
	p.count(at, at.Sampler, formOf(&at.Sampled, at.Call, p.tap, p.of))
}

func (p *pairs) count(at shadow.Instant, sampler string, sampled form) {
	k := pair{Sampler: sampler, Walked: formOf(at.Walked, at.Call, p.tap, p.of), Sampled: sampled}
	first := float64(at.Call.BeginNanos-p.begin) / 1e9
	seen := p.found[k]
	if seen == nil {
		seen = &pair{Sampler: k.Sampler, Walked: k.Walked, Sampled: k.Sampled, First: first}
		seen.Example = example(at.Sampled.Mismatch.GetSuspect())
		p.found[k] = seen
	}
	seen.Count++
	seen.First = min(seen.First, first)
}

// example has at most eight frames.
func example(t *misstepv1.Trace) string {
	var names []string
	for i, f := range t.GetFrames() {
		if i == 8 {
			names = append(names, fmt.Sprintf("%d more", len(t.GetFrames())-i))
			break
		}
		names = append(names, fmt.Sprintf("%s.%s@%d", f.GetClassName(), f.GetMethod(), f.GetBci()))
	}
	return strings.Join(names, " < ")
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

// sorted returns the most frequent pairs first. Calls without a sample count where the recording has samples before and after: what
// a recorder writes before its recording begins is not in it.
func (p *pairs) sorted() []pair {
	for _, at := range p.untraced {
		sampler := p.samplerOf(at.Call.Signal)
		if span := p.spans[sampler]; span[0] < at.Call.BeginNanos && at.Call.BeginNanos < span[1] {
			p.count(at, sampler, form{Outcome: noTrace})
		}
	}
	p.untraced = nil
	all := make([]pair, 0, len(p.found))
	for _, v := range p.found {
		all = append(all, *v)
	}
	slices.SortFunc(all, func(a, b pair) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Sampler, b.Sampler),
			cmp.Compare(a.Walked.text(), b.Walked.text()), cmp.Compare(a.Sampled.text(), b.Sampled.text()))
	})
	return all
}
