package jvm

import (
	"maps"
	"slices"

	"misstep/agent"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// counts returns the agent's current counts of the recipe's checks, in the recipe's order; those of checks that are judged
// after the trial are 0.
func (t *trial) counts() []*misstepv1.CheckCount {
	counts := make([]*misstepv1.CheckCount, 0, len(t.recipe.GetChecks()))
	for _, check := range t.recipe.GetChecks() {
		counts = append(counts, t.count(check.GetName()))
	}
	return counts
}

// count returns the counts of one of the agent's checks. Check liveness counts the watchdog's looks in addition to the agent's own,
// and a hang as its mismatch.
func (t *trial) count(name string) *misstepv1.CheckCount {
	var recorded agent.CheckCount
	if i := slices.IndexFunc(t.status.Checks, func(c agent.CheckCount) bool { return c.Name == name }); i >= 0 {
		recorded = t.status.Checks[i]
	}
	count := countOf(name, recorded)
	if name == recipe.Liveness {
		count.Total += t.looks
		count.Match += t.looks
		if t.verdict.hang != nil {
			count.Total++
			count.Mismatch++
		}
	}
	return count
}

// mostCounted bounds each counter, which the workload may write to: their sum fits into 64 bits.
const mostCounted = 1 << 54

// bounded returns counters of which none is larger than any that is counted.
func bounded[K comparable](of map[K]uint64) map[K]uint64 {
	for k, n := range of {
		of[k] = min(n, mostCounted)
	}
	return of
}

// countOf converts a record's counters. A JVM that died may have left samples unjudged; they are counted as void, so that the
// verdicts add up to the total.
func countOf(name string, c agent.CheckCount) *misstepv1.CheckCount {
	c.Total, c.Match, c.Mismatch = min(c.Total, mostCounted), min(c.Match, mostCounted), min(c.Mismatch, mostCounted)
	c.Tolerated, c.Unwalkable, c.Void = bounded(c.Tolerated), bounded(c.Unwalkable), bounded(c.Void)
	count := &misstepv1.CheckCount{
		Check: name, Total: c.Total, Match: c.Match, Mismatch: c.Mismatch,
		Tolerated: c.Tolerated, Unwalkable: c.Unwalkable, Void: c.Void,
	}
	judged := c.Verdicts()
	switch {
	case judged < c.Total:
		void := make(map[string]uint64, len(c.Void)+1)
		maps.Copy(void, c.Void)
		void["unjudged"] += c.Total - judged
		count.Void = void
	case judged > c.Total: // read between two increments
		count.Total = judged
	}
	return count
}

func (t *trial) signals() *misstepv1.SignalCount {
	return &misstepv1.SignalCount{Sent: t.status.Sent, Delivered: t.status.Delivered, Answered: t.status.Answered}
}

// compared counts the comparisons that prove that a check did its work: those with any verdict but void and unwalkable.
func compared(c *misstepv1.CheckCount) uint64 {
	sum := c.GetMatch() + c.GetMismatch()
	for _, n := range c.GetTolerated() {
		sum += n
	}
	return sum
}
