package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"misstep/bench"
	"misstep/internal/interval"
	"misstep/recipe"
)

// tables returns what was judged by check and JDK, and what was found.
func (s *specificity) tables() []bench.Table {
	return []bench.Table{s.countTable(), s.familyTable(), s.blindTable(), s.costTable()}
}

func (s *specificity) countTable() bench.Table {
	t := bench.Table{
		Title: "specificity: checks of recordings without faults; upper ends of exact 95 % intervals, as if units were independent",
		Columns: []string{
			"check", "JDK", "trials", "judged", "match", "tolerated", "unwalkable", "void", "mismatch", "named", "not listed",
			"unnamed in 10⁶, at most",
		},
	}
	for _, check := range recordedChecks() {
		total := &checkCount{Check: check, JDK: "all"}
		var rows []*checkCount
		for _, c := range s.Counts {
			if c.Check == check {
				rows = append(rows, c)
				total.merge(c)
			}
		}
		slices.SortFunc(rows, func(a, b *checkCount) int { return compareJDKs(a.JDK, b.JDK) })
		for _, c := range append(rows, total) {
			t.Rows = append(t.Rows, []string{
				c.Check, c.JDK, fmt.Sprint(c.Trials), fmt.Sprint(c.judged()), fmt.Sprint(c.Match), wordsOf(c.Tolerated),
				wordsOf(c.Unwalkable), wordsOf(c.Void), fmt.Sprint(c.Mismatch), fmt.Sprint(c.Named), fmt.Sprint(c.Unlisted),
				c.bound(),
			})
		}
	}
	return t
}

// bound is the upper end of the rate of mismatches that are no known bug, in a million units.
func (c *checkCount) bound() string {
	if c.judged() == 0 {
		return "-"
	}
	return bench.Figure(1e6 * interval.ExactUpper(c.Mismatch-c.Named, c.judged()))
}

func (c *checkCount) merge(o *checkCount) {
	c.Trials += o.Trials
	c.Total += o.Total
	c.Match += o.Match
	c.Mismatch += o.Mismatch
	c.Named += o.Named
	c.Unlisted += o.Unlisted
	c.Tolerated, c.Void = added(c.Tolerated, o.Tolerated), added(c.Void, o.Void)
	c.Unwalkable = added(c.Unwalkable, o.Unwalkable)
}

func (s *specificity) familyTable() bench.Table {
	t := bench.Table{
		Title:   "mismatches by signature",
		Columns: []string{"check", "count", "known as", "finding", "JDKs", "profilers", "signature"},
	}
	slices.SortStableFunc(s.Families, func(a, b *family) int {
		return cmp.Or(cmp.Compare(a.Check, b.Check), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Finding, b.Finding))
	})
	for _, f := range s.Families {
		t.Rows = append(t.Rows, []string{
			f.Check, fmt.Sprint(f.Count), cmp.Or(f.Known, "-"), f.Finding, wordsOf(f.JDKs), wordsOf(f.Profilers), f.Signature,
		})
	}
	return t
}

func (s *specificity) blindTable() bench.Table {
	t := bench.Table{
		Title:   "checks that judged nothing in a trial, and trials that failed",
		Columns: []string{"check", "JDK", "workload", "profiler", "void"},
	}
	for _, b := range s.Blind {
		t.Rows = append(t.Rows, []string{b.Check, b.JDK, b.Workload, b.Profiler, b.Void})
	}
	for _, f := range s.Failures {
		t.Rows = append(t.Rows, []string{"failed", "", "", "", f})
	}
	return t
}

func (s *specificity) costTable() bench.Table {
	t := bench.Table{
		Title:   "judging, its share of a trial's time",
		Columns: []string{"profiler", "trials", "JVMs", "judging", "share", "median", "most"},
	}
	for _, c := range s.Costs {
		t.Rows = append(t.Rows, []string{
			c.Profiler, fmt.Sprint(c.Trials), fmt.Sprint(c.Wall.Round(time.Second)), fmt.Sprint(c.Judging.Round(time.Second)),
			percent(float64(c.Judging) / float64(c.Wall+c.Judging)), percent(bench.Median(c.Shares)),
			percent(bench.Quantile(c.Shares, 1)),
		})
	}
	return t
}

func percent(share float64) string {
	if math.IsNaN(share) {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*share)
}

// goals: each check judges enough, in each trial something, and each mismatch is a known bug; judging keeps up with the JVMs.
func (s *specificity) goals() []bench.Goal {
	goals := []bench.Goal{
		{
			Name: "combinations run", Goal: float64(s.Planned), Measured: float64(min(s.Trials, s.Planned)), AtLeast: true,
			Unit: "trials",
		},
		{Name: "checks that judged nothing in a trial", Measured: float64(len(s.Blind)), Unit: "checks"},
		{Name: "trials that failed", Measured: float64(len(s.Failures)), Unit: "trials"},
	}
	for _, check := range recordedChecks() {
		total := &checkCount{}
		for _, c := range s.Counts {
			if c.Check == check {
				total.merge(c)
			}
		}
		unnamed := math.NaN()
		if total.judged() > 0 {
			unnamed = float64(total.Mismatch - total.Named)
		}
		goals = append(goals,
			bench.Goal{Name: check + ": judged", Goal: unitsGoal, Measured: float64(total.judged()), AtLeast: true, Unit: "units"},
			bench.Goal{Name: check + ": mismatches without a name", Measured: unnamed, Unit: "units"})
	}
	var wall, judging time.Duration
	for _, c := range s.Costs {
		wall, judging = wall+c.Wall, judging+c.Judging
	}
	return append(goals, bench.Goal{
		Name: "judging in relation to the JVMs' time", Goal: 1, Measured: float64(judging) / float64(wall), Unit: "times",
	})
}

// recordedChecks are the checks of recordings, in their order.
func recordedChecks() (names []string) {
	for _, c := range recipe.Checks() {
		if c.Slot == recipe.NoSlot {
			names = append(names, c.Name)
		}
	}
	return names
}

func sum[K comparable](m map[K]uint64) (n uint64) {
	for _, v := range m {
		n += v
	}
	return n
}

func added[K comparable](to, more map[K]uint64) map[K]uint64 {
	if to == nil {
		to = map[K]uint64{}
	}
	for k, n := range more {
		to[k] += n
	}
	return to
}

// wordsOf lists counts, the largest first.
func wordsOf[K cmp.Ordered](counts map[K]uint64) string {
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b K) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	list := make([]string, 0, len(keys))
	for _, k := range keys {
		list = append(list, fmt.Sprintf("%v %d", k, counts[k]))
	}
	return cmp.Or(strings.Join(list, ", "), "-")
}

// compareJDKs orders names as jdk8 and jdk11 by their numbers.
func compareJDKs(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }
