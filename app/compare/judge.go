package compare

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"misstep/internal/interval"
	"misstep/internal/paired"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// Margin is the ratio up to which two shares are taken for the same, unless told otherwise, and Level the probability with which
// two equal builds are called different somewhere in a report.
const (
	Margin = 1.25
	Level  = 0.05
)

// Measure is one share that was compared: less is better.
type Measure struct {
	// Of is the id of a bug, the name of a check, or "trials".
	Of string `json:"of"`
	// What is the share: "" of a bug; wrong, cut, lost or void of a check's samples; failed or void of trials.
	What string `json:"what,omitempty"`
	// Walker that the check judges.
	Walker string `json:"walker,omitempty"`
	// Title and Known are those of a bug.
	Title string `json:"title,omitempty"`
	Known bool   `json:"known,omitempty"`
	// Pairs in which both trials could show it.
	Pairs int `json:"pairs"`
	// Shares are the means over the trials before and after; of a bug those of samples, of a crash or hang those of trials. Trials
	// are the numbers of trials that showed it.
	Shares [2]float64 `json:"shares"`
	Trials [2]int     `json:"trials"`
	// Ratio of the share after to that before, with its 95 % interval; nil where that is not a number.
	Ratio *float64 `json:"ratio"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
	// P of the permutation test, and Adjusted for all that was tested.
	P        float64        `json:"p"`
	Adjusted float64        `json:"adjusted"`
	Verdict  paired.Verdict `json:"verdict"`
	// Needed is the estimated number of pairs that would decide, in all, and Time the budget for them, where it is undecided; 0
	// where that cannot be told.
	Needed float64       `json:"needed,omitempty"`
	Time   time.Duration `json:"time,omitempty"`
	// Bound is the largest share of trials (95 %) that may show it, where none did.
	Bound float64 `json:"bound,omitempty"`

	pairs []paired.Pair
	ratio paired.Ratio
}

// order of measures in a list: what somebody must look at first comes first.
func (m Measure) order() int {
	return slices.Index([]paired.Verdict{paired.Worse, paired.Better, paired.Undecided, paired.Same, paired.NotSeen}, m.Verdict)
}

// Options of Judge.
type Options struct {
	Margin float64 `json:"margin"` // above 1
	Level  float64 `json:"level"`  // of all tests together, in (0, 1)
	// PairTime is how long a pair took, with all slots at work.
	PairTime time.Duration `json:"pair_time"`
}

// Judged are the measures of a comparison.
type Judged struct {
	Bugs    []Measure `json:"bugs"`
	Walkers []Measure `json:"walkers"`
	Trials  []Measure `json:"trials"`
	// Tested is the number of measures that could be called different at all, over which Level is shared: half of it over bugs,
	// half over the others.
	Tested int `json:"tested"`
}

// families is the number of families of measures that are tested together.
const families = 2

// test tests a family of measures and returns the number of those that could be called different at all.
func test(family []*Measure, o Options) (tested int) {
	tests := make([]paired.Tested, len(family))
	for i, m := range family {
		tests[i] = paired.Tested{P: paired.P(m.pairs), Least: paired.LeastP(paired.Discordant(m.pairs))}
	}
	adjusted, tested := paired.Holm(tests, o.Level)
	for i, m := range family {
		m.P, m.Adjusted, m.ratio = tests[i].P, math.Min(1, families*adjusted[i]), paired.RatioOf(m.pairs)
		m.Ratio, m.Low, m.High = number(m.ratio.Value), number(m.ratio.Low), number(m.ratio.High)
		m.Verdict = paired.Judge(m.pairs, m.ratio, adjusted[i], o.Margin, o.Level)
		switch m.Verdict {
		case paired.NotSeen:
			m.Bound = interval.ExactUpper(0, uint64(2*m.Pairs))
		case paired.Undecided:
			m.budget(o, tested)
		}
	}
	return tested
}

// pointers are measures to be changed in place.
func pointers(list []Measure) []*Measure {
	all := make([]*Measure, len(list))
	for i := range list {
		all[i] = &list[i]
	}
	return all
}

// Count is the number of measures with a verdict.
func (j *Judged) Count(v paired.Verdict) (n int) {
	for _, m := range slices.Concat(j.Bugs, j.Walkers, j.Trials) {
		if m.Verdict == v {
			n++
		}
	}
	return n
}

// Judge compares whole pairs of trials. It is a pure function.
func Judge(pairs [][2]Trial, bugs map[string]Bug, o Options) Judged {
	var j Judged
	for _, id := range seen(pairs) {
		b := bugs[id]
		j.Bugs = append(j.Bugs, measure(pairs, Measure{Of: id, Title: b.Title, Known: b.Known}, func(t Trial) (float64, bool) {
			return t.share(id)
		}))
	}
	for _, name := range checked(pairs) {
		known, _ := recipe.FindCheck(name)
		for _, s := range shares {
			j.Walkers = append(j.Walkers, measure(pairs, Measure{Of: name, What: s.what, Walker: known.Suspect},
				func(t Trial) (float64, bool) { return s.of(t.Checks[name]) }))
		}
	}
	for _, kind := range []misstepv1.OutcomeKind{
		misstepv1.OutcomeKind_OUTCOME_KIND_APPLICATION_FAILURE, misstepv1.OutcomeKind_OUTCOME_KIND_VOID,
	} {
		what := misstepv1.OutcomeName(kind)
		j.Trials = append(j.Trials, measure(pairs, Measure{Of: "trials", What: what}, func(t Trial) (float64, bool) {
			return is(t.Outcome == what), true
		}))
	}
	j.decide(o)
	return j
}

// shares are what is measured of a check's samples. What was not compared must not look better.
var shares = []struct {
	what string
	of   func(Counts) (float64, bool)
}{
	{"wrong", func(c Counts) (float64, bool) { return float64(c.Wrong) / float64(c.Judged), c.Judged > 0 }},
	{"cut", func(c Counts) (float64, bool) { return float64(c.Cut) / float64(c.Judged), c.Judged > 0 }},
	{"lost", func(c Counts) (float64, bool) { return float64(c.Lost) / float64(c.Judged), c.Judged > 0 }},
	{"void", func(c Counts) (float64, bool) { return float64(c.Asked-c.Judged) / float64(c.Asked), c.Asked > 0 }},
}

func is(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// share is a bug's share of the samples that the trial judged, summed over its checks; a crash or hang is a share of 1. It is false
// if the trial could not show it, since its checks judged nothing.
func (t Trial) share(bug string) (float64, bool) {
	total, could := 0.0, len(t.Checks) == 0
	for _, c := range t.Checks {
		could = could || c.Judged > 0
	}
	for check, n := range t.Bugs[bug] {
		switch c := t.Checks[check]; {
		case check == "":
			total, could = total+1, true
		case c.Judged > 0:
			total += float64(n) / float64(c.Judged)
		}
	}
	return total, could
}

// measure measures a share in the pairs whose trials both could show it.
func measure(pairs [][2]Trial, m Measure, share func(Trial) (float64, bool)) Measure {
	for _, p := range pairs {
		before, ok := share(p[Before])
		after, okay := share(p[After])
		if !ok || !okay {
			continue
		}
		m.pairs = append(m.pairs, paired.Pair{Before: before, After: after})
		m.Shares[Before] += before
		m.Shares[After] += after
		m.Trials[Before] += int(is(before > 0))
		m.Trials[After] += int(is(after > 0))
	}
	m.Pairs = len(m.pairs)
	for side := range m.Shares {
		m.Shares[side] /= math.Max(1, float64(m.Pairs))
	}
	return m
}

// decide tests the bugs together, and all else together, each with half of the level: one cause may show as dozens of bugs, and
// these must not hide that a walker became worse.
func (j *Judged) decide(o Options) {
	half := o
	half.Level = o.Level / families
	j.Tested = test(pointers(j.Bugs), half) + test(append(pointers(j.Walkers), pointers(j.Trials)...), half)
	for _, list := range [][]Measure{j.Bugs, j.Walkers} {
		slices.SortStableFunc(list, func(a, b Measure) int {
			return cmp.Or(cmp.Compare(a.order(), b.order()), cmp.Compare(b.Shares[0]+b.Shares[1], a.Shares[0]+a.Shares[1]))
		})
	}
}

// budget says how many pairs would decide, of which only those count in which the measure could be seen.
func (m *Measure) budget(o Options, tested int) {
	needed := paired.Needed(m.pairs, m.ratio, o.Margin, o.Level, tested)
	if math.IsInf(needed, 0) || math.IsNaN(needed) || needed*o.PairTime.Hours() > longest.Hours() {
		return
	}
	m.Needed = needed
	m.Time = time.Duration(needed * float64(o.PairTime))
}

// longest is the budget from which on none is named.
const longest = 30 * 24 * time.Hour

func number(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// seen lists the ids of all bugs.
func seen(pairs [][2]Trial) []string {
	ids := map[string]bool{}
	for _, p := range pairs {
		for _, t := range p {
			for id := range t.Bugs {
				ids[id] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

// checked lists the names of all checks that judged something, in their order.
func checked(pairs [][2]Trial) (names []string) {
	did := map[string]bool{}
	for _, p := range pairs {
		for _, t := range p {
			for name, c := range t.Checks {
				did[name] = did[name] || c.Asked > 0
			}
		}
	}
	for _, name := range recipe.Names(recipe.Checks()) {
		if did[name] {
			names = append(names, name)
		}
	}
	return names
}
