package main

import (
	"maps"
	"math/rand/v2"
	"slices"

	"misstep/app/compare"
	"misstep/internal/paired"
)

// pool has the counts of real trials of one build, by recipe. A comparison that is drawn from it is one of equal builds.
type pool struct {
	recipes []string
	trials  map[string][]compare.Trial
	bugs    map[string]compare.Bug
}

func newPool(trials []compare.Trial) pool {
	p := pool{trials: map[string][]compare.Trial{}, bugs: map[string]compare.Bug{}}
	for _, t := range trials {
		p.trials[t.Recipe] = append(p.trials[t.Recipe], t)
		for id := range t.Bugs {
			p.bugs[id] = compare.Bug{ID: id}
		}
	}
	p.recipes = slices.Sorted(maps.Keys(p.trials))
	return p
}

// draw draws the pairs of a comparison: the recipes in turn, for each two different trials of it.
func (p pool) draw(random *rand.Rand, pairs int) [][2]compare.Trial {
	drawn := make([][2]compare.Trial, pairs)
	for i := range drawn {
		of := p.trials[p.recipes[i%len(p.recipes)]]
		a := random.IntN(len(of))
		b := (a + 1 + random.IntN(len(of)-1)) % len(of)
		drawn[i] = [2]compare.Trial{of[a], of[b]}
	}
	return drawn
}

// judge is how the command judges them.
func (p pool) judge(pairs [][2]compare.Trial) compare.Judged {
	return compare.Judge(pairs, p.bugs, compare.Options{Margin: compare.Margin, Level: compare.Level, PairTime: 1})
}

// change is what is planted: a share that is more frequent by a factor after than before.
type change struct{ of, what string }

func (c change) String() string {
	if c.what == "" {
		return c.of
	}
	return c.of + " " + c.what
}

// measure is the one that shows the change.
func (c change) measure(j compare.Judged) compare.Measure {
	for _, m := range slices.Concat(j.Bugs, j.Walkers) {
		if m.Of == c.of && m.What == c.what {
			return m
		}
	}
	return compare.Measure{Verdict: paired.NotSeen}
}

// plant makes the trials before show the share less: each of its samples is kept with the probability 1/factor. What a real trial
// had stays together, with its bursts, and the thinning adds the chance that a rarer event has.
func (c change) plant(random *rand.Rand, pairs [][2]compare.Trial, factor float64) {
	thin := func(n uint64) (kept uint64) {
		for range n {
			if random.Float64() < 1/factor {
				kept++
			}
		}
		return kept
	}
	for i := range pairs {
		t := pairs[i][compare.Before]
		if c.what == "" {
			t.Bugs = maps.Clone(t.Bugs)
			if by := t.Bugs[c.of]; by != nil {
				by = maps.Clone(by)
				for _, check := range slices.Sorted(maps.Keys(by)) {
					by[check] = thin(by[check])
				}
				t.Bugs[c.of] = by
			}
		} else {
			t.Checks = maps.Clone(t.Checks)
			n := t.Checks[c.of]
			switch c.what {
			case "wrong":
				n.Wrong = thin(n.Wrong)
			case "cut":
				n.Cut = thin(n.Cut)
			case "lost":
				n.Lost = thin(n.Lost)
			}
			t.Checks[c.of] = n
		}
		pairs[i][compare.Before] = t
	}
}

// false counts the comparisons of equal builds in which something is called better or worse.
func (p pool) falseAlarms(random *rand.Rand, comparisons, pairs int) (n int) {
	for range comparisons {
		j := p.judge(p.draw(random, pairs))
		if j.Count(paired.Better)+j.Count(paired.Worse) > 0 {
			n++
		}
	}
	return n
}

// found counts the comparisons that a planted change ends in, by the verdict on its measure.
func (p pool) found(random *rand.Rand, comparisons, pairs int, c change, factor float64) map[paired.Verdict]int {
	by := map[paired.Verdict]int{}
	for range comparisons {
		drawn := p.draw(random, pairs)
		c.plant(random, drawn, factor)
		by[c.measure(p.judge(drawn)).Verdict]++
	}
	return by
}

// changes are the shares that the pool shows in at least so many trials.
func (p pool) changes(least int) (list []change) {
	in := map[change]int{}
	for _, of := range p.trials {
		for _, t := range of {
			for id := range t.Bugs {
				in[change{id, ""}]++
			}
			for name, n := range t.Checks {
				for what, count := range map[string]uint64{"wrong": n.Wrong, "cut": n.Cut, "lost": n.Lost} {
					if count > 0 {
						in[change{name, what}]++
					}
				}
			}
		}
	}
	for c, n := range in {
		if n >= least {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b change) int {
		if in[a] != in[b] {
			return in[b] - in[a]
		}
		if a.String() < b.String() {
			return -1
		}
		return 1
	})
	return list
}
