package main

import (
	"fmt"
	"math"
	"strings"

	"misstep/bench"
	"misstep/internal/interval"
	"misstep/triage"
)

// forkCount counts the forks of a sample of jcstress under a strategy.
type forkCount struct {
	Forks, Shown uint64 // all, and those that show an outcome of the sample's
	Seen, All    uint64 // such outcomes, of all
	Forbidden    uint64 // outcomes that jcstress forbids
}

func (c *forkCount) add(of forkCount) {
	c.Forks, c.Shown = c.Forks+of.Forks, c.Shown+of.Shown
	c.Seen, c.All, c.Forbidden = c.Seen+of.Seen, c.All+of.All, c.Forbidden+of.Forbidden
}

// differs returns the p-value of Fisher's exact test, two-sided, of whether both show the outcome in the same share of forks.
func (c *forkCount) differs(other *forkCount) float64 {
	if c.Forks == 0 || other.Forks == 0 {
		return math.NaN()
	}
	return triage.Fisher(c.Shown, c.Forks, other.Shown, other.Forks)
}

// forkCounts are counts by strategy.
type forkCounts map[string]*forkCount

func newForkCounts() forkCounts {
	by := forkCounts{}
	for _, strategy := range periodicStrategies {
		by[strategy] = &forkCount{}
	}
	return by
}

// countForks counts the forks of a sample.
func countForks(l *lab, s *store, sample jcstressSample) forkCounts {
	by := newForkCounts()
	for _, c := range jcstressCells() {
		r, ok := s.result(l, c)
		if c.Race != sample.name || !ok || r.Trouble != "" {
			continue
		}
		of := forkCount{Forks: 1, Forbidden: r.Outcomes.Forbidden}
		if of.Seen, of.All = r.Outcomes.of(sample.outcomes); r.Found {
			of.Shown = 1
		}
		by[c.Strategy].add(of)
	}
	return by
}

// rows returns the table's rows of a sample, one for each strategy that was measured.
func (by forkCounts) rows(sample, outcome string) (rows [][]string) {
	for _, strategy := range periodicStrategies {
		c := by[strategy]
		if c.Forks == 0 {
			continue
		}
		low, high := interval.Wilson(c.Shown, c.Forks)
		p := ""
		if strategy != "chaos" {
			p = bench.Figure(by["chaos"].differs(c))
		}
		rows = append(rows, []string{
			sample, outcome, strategy, fmt.Sprintf("%d of %d", c.Shown, c.Forks), fmt.Sprintf("%.2f to %.2f", low, high),
			fmt.Sprintf("%d of %d", c.Seen, c.All), p,
		})
	}
	return rows
}

// jcstressGoals returns the table and the goals of jcstress's samples.
func jcstressGoals(l *lab, s *store) (bench.Table, []bench.Goal) {
	t := bench.Table{
		Title:   "jcstress's samples in virtual time: forks that show the outcome of a thread that lost its CPU in between",
		Columns: []string{"sample", "outcome", "strategy", "forks", "interval of 95 %", "of all outcomes", "p (chaos differs)"},
	}
	sum, least, forbidden := newForkCounts(), uint64(math.MaxUint64), 0.0
	for _, sample := range jcstressSamples {
		by := countForks(l, s, sample)
		outcome := strings.Join(sample.outcomes, " or ")
		if sample.control {
			outcome += " (forbidden)"
		}
		t.Rows = append(t.Rows, by.rows(sample.name, outcome)...)
		for strategy, c := range by {
			least, forbidden = min(least, c.Forks), forbidden+float64(c.Forbidden)
			if !sample.control {
				sum[strategy].add(*c)
			}
		}
	}
	t.Rows = append(t.Rows, sum.rows("all but the forbidden", "")...)
	chaos := sum["chaos"]
	share := float64(chaos.Shown) / float64(chaos.Forks)
	if least == 0 {
		share, forbidden = math.NaN(), math.NaN() // incomplete: the table has the figures
	}
	goals := []bench.Goal{
		{
			Name: "forks of each of jcstress's samples under each scheduler", Goal: 5, Measured: float64(least), Unit: "forks",
			AtLeast: true,
		},
		{Name: "those under chaos that show the outcome", Goal: 0.9, Measured: share, Unit: "of 1", AtLeast: true},
		{Name: "outcomes that jcstress forbids", Goal: 0, Measured: forbidden, Unit: "outcomes"},
	}
	for _, other := range []string{"none", scxChaos} {
		p := chaos.differs(sum[other])
		if float64(sum[other].Shown)/float64(sum[other].Forks) >= share {
			p = 1 // the difference, if any, is the other way round
		}
		goals = append(goals, bench.Goal{Name: "p that chaos shows it in more forks than " + other, Goal: 0.01, Measured: p})
	}
	return t, goals
}
