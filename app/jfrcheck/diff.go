package jfrcheck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"misstep/runner/recording"
)

// DiffOptions of a comparison.
type DiffOptions struct {
	// A and B are recordings, collapsed stacks or profiles of pprof; EventA and EventB the types of event, or the sample types of
	// pprof, that are compared; empty for the one of which both have most.
	A, B           string
	EventA, EventB string
	Stdin          io.Reader
	TempDir        string
	MaxBytes       int64
	// Level is the share of the differences that may be due to chance (false discovery rate).
	Level float64
	// Top is the number of differences of each kind that are kept.
	Top int
}

// Difference is what two recordings of one program differ in.
type Difference struct {
	A Side `json:"a"`
	B Side `json:"b"`
	// Level is the share of the changes that may be due to chance.
	Level float64 `json:"level"`
	// Compared is the number of shares that were compared.
	Compared int `json:"compared"`
	// Changes by kind: methods by self and total share, callers by the share of their call. Largest first.
	Changes []Change `json:"changes"`
	// Stacks that only one of the two has, beyond chance.
	Stacks []Change `json:"stacks"`
	// LeftOut is the number of further differences, beyond those of each kind that are kept.
	LeftOut int      `json:"left_out,omitempty"`
	Notes   []string `json:"notes,omitempty"`
}

// Equal reports whether nothing differs beyond chance.
func (d *Difference) Equal() bool { return len(d.Changes) == 0 && len(d.Stacks) == 0 }

// Side is one of the two recordings.
type Side struct {
	File  string `json:"file"`
	Event string `json:"event"`
	Counts
	// Compared samples have a whole stack.
	Compared uint64 `json:"compared"`
	// Blocks of time by which the variance was estimated.
	Blocks int `json:"blocks"`
}

// Change is a share that differs.
type Change struct {
	// Kind is self, total, caller or stack.
	Kind   string `json:"kind"`
	Method string `json:"method,omitempty"`
	Caller string `json:"caller,omitempty"`
	// A and B are the shares of the samples, SamplesA and SamplesB their numbers.
	A        float64 `json:"a"`
	B        float64 `json:"b"`
	SamplesA uint64  `json:"samples_a"`
	SamplesB uint64  `json:"samples_b"`
	// Low and High bound the change B-A: its interval of 95 % for this share alone.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// P is the probability of such a change by chance, Q that after the correction for all that were compared.
	P float64 `json:"p"`
	Q float64 `json:"q"`
	// Stack has the methods, innermost first.
	Stack []string `json:"stack,omitempty"`
}

// profiles are those of a recording, by the type of event.
type profiles struct {
	seed maphash.Seed
	of   map[string]*profile
	lost uint64
	// foreign profiles are those of another form than JFR's.
	foreign bool
}

// Visit takes a record.
func (p *profiles) Visit(r recording.Record) error {
	switch r := r.(type) {
	case *recording.Chunk:
		for _, each := range p.of {
			clear(each.names)
			clear(each.counters)
		}
	case *recording.Event:
		if !samplerTypes[r.Type] {
			return nil
		}
		if p.of[r.Type] == nil {
			p.of[r.Type] = newProfile(p.seed)
		}
		p.of[r.Type].add(r)
	case *recording.Lost:
		p.lost += uint64(max(r.Samples, 0))
	}
	return nil
}

func (p *profiles) ends(*Recording) {}
func (p *profiles) report(*Report)  {}

// Diff compares two recordings.
func Diff(ctx context.Context, reader Reader, o DiffOptions) (*Difference, error) {
	if o.A == Stdin && o.B == Stdin {
		return nil, errors.New("only one of the two recordings can be standard input")
	}
	d := &Difference{Level: o.Level, Changes: []Change{}, Stacks: []Change{}}
	seed := maphash.MakeSeed()
	a, err := d.read(ctx, reader, o, o.A, seed)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return nil, err
	}
	b, err := d.read(ctx, reader, o, o.B, seed)
	if err != nil {
		return nil, err
	}
	d.A.Event, d.B.Event = chooseEvents(a, b, o.EventA, o.EventB)
	if d.A.Event != d.B.Event && (o.EventA == "" || o.EventB == "") && !a.foreign && !b.foreign {
		d.Notes = append(d.Notes, "the two have no sampler in common: samplers differ by what they sample, such as threads that "+
			"wait; --event-a and --event-b name others")
	}
	var chosen [2]*profile
	for i, from := range []struct {
		file string
		*profiles
		to *Side
	}{{o.A, a, &d.A}, {o.B, b, &d.B}} {
		p, err := from.get(from.to.Event)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", from.file, err)
		}
		if p.full {
			d.Notes = append(d.Notes,
				fmt.Sprintf("%s has more than %d stacks: further ones are not told apart", from.file, mostKeys))
		}
		chosen[i] = p
		*from.to = Side{File: from.file, Event: from.to.Event, Counts: p.lacking, Compared: p.usable, Blocks: p.blocks.count}
		if from.to.Event == lostEvent {
			from.to.Lost = from.lost
		}
	}
	d.compare(chosen[0], chosen[1], o.Top)
	return d, nil
}

// read returns the profiles of a recording.
func (d *Difference) read(ctx context.Context, reader Reader, o DiffOptions, file string, seed maphash.Seed) (*profiles, error) {
	p := &profiles{seed: seed, of: map[string]*profile{}}
	in, err := openInput(ctx, file, Options{Stdin: o.Stdin, TempDir: o.TempDir, MaxBytes: o.MaxBytes, foreign: true})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	defer in.Close()
	if in.foreign {
		if err := p.readForeign(ctx, in); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		d.Notes = append(d.Notes, file+" has no times: its samples are taken for independent, which those of a program hardly "+
			"are, so that more may seem to differ than does: compare two runs of one build to see how much")
		return p, nil
	}
	r, err := checkInput(ctx, reader, file, in, "", []consumer{p})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if r.Incomplete != "" || len(r.Problems) > 0 {
		d.Notes = append(d.Notes, file+" could not be read whole: see misstep jfr check")
	}
	return p, nil
}

// leastSamples of a key, in both recordings together, without which no test could tell a difference.
const leastSamples = 5

// compare fills in what differs. All shares are corrected together, since one reads them together.
func (d *Difference) compare(a, b *profile, top int) {
	var all []Change
	for kind := range keyKinds {
		keys := map[key]struct{}{}
		for _, p := range []*profile{a, b} {
			for k := range p.counts[kind] {
				keys[k] = struct{}{}
			}
		}
		for k := range keys {
			x, y := a.share(kind, k), b.share(kind, k)
			if x.samples+y.samples < leastSamples || kind == stacksOf && x.samples > 0 && y.samples > 0 {
				continue
			}
			c := changeOf(x, y)
			c.Kind, c.Method, c.Caller = kindNames[kind], k.method, k.caller
			if kind == stacksOf {
				if c.Stack = a.stacks[k.hash]; c.Stack == nil {
					c.Stack = b.stacks[k.hash]
				}
			}
			all = append(all, c)
		}
	}
	d.Compared = len(all)
	correct(all)
	slices.SortFunc(all, func(x, y Change) int {
		return cmp.Or(cmp.Compare(math.Abs(y.B-y.A), math.Abs(x.B-x.A)), cmp.Compare(x.P, y.P), cmp.Compare(x.Kind, y.Kind),
			cmp.Compare(x.Method, y.Method), cmp.Compare(x.Caller, y.Caller), slices.Compare(x.Stack, y.Stack))
	})
	kept := map[string]int{}
	for _, c := range all {
		if c.Q > d.Level {
			continue
		}
		if kept[c.Kind]++; kept[c.Kind] > top {
			d.LeftOut++
			continue
		}
		if c.Kind == kindNames[stacksOf] {
			d.Stacks = append(d.Stacks, c)
			continue
		}
		d.Changes = append(d.Changes, c)
	}
}

// outside is the probability that a change lies outside of its interval.
const outside = 0.05

// changeOf tests whether two shares are one (Welch's test with Satterthwaite's degrees of freedom).
func changeOf(a, b estimate) Change {
	c := Change{A: a.share, B: b.share, SamplesA: a.samples, SamplesB: b.samples}
	variance := a.variance + b.variance
	deviation := math.Sqrt(variance)
	freedom := variance * variance / (a.variance*a.variance/a.freedom + b.variance*b.variance/b.freedom)
	student := distuv.StudentsT{Sigma: 1, Nu: freedom}
	c.P = 2 * student.CDF(-math.Abs(b.share-a.share)/deviation)
	reach := student.Quantile(1-outside/2) * deviation
	c.Low, c.High = b.share-a.share-reach, b.share-a.share+reach
	return c
}

// correct sets Q by Benjamini and Yekutieli's procedure, which holds for shares that depend on each other, as those of a method and
// its callers do: the least share of false differences at which each is one.
func correct(all []Change) {
	slices.SortFunc(all, func(x, y Change) int { return cmp.Compare(x.P, y.P) })
	var harmonic float64
	for i := range all {
		harmonic += 1 / float64(i+1)
	}
	least := 1.0
	for i := len(all) - 1; i >= 0; i-- {
		least = min(least, all[i].P*float64(len(all))*harmonic/float64(i+1))
		all[i].Q = least
	}
}
