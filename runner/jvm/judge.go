package jvm

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/triage"
)

// judge gives the verdicts of some of the checks. The agent judges while the JVM runs, and agentJudge reads what it wrote;
// recordedJudge works after the trial, from the recording that a profiler left in the trial's folder.
type judge interface {
	// judges reports whether it judges the check of that name.
	judges(check string) bool
	// judge is called once, after the JVM has ended by itself, crashed, or was killed: folder is the trial's, checks are those
	// of the recipe's checks that it judges. An error is an infrastructure failure.
	judge(ctx context.Context, folder string, checks []*misstepv1.Check) (judgement, error)
}

// judgement is the verdicts of checks.
type judgement struct {
	// counts by check. A missing check compared nothing, which makes the trial void.
	counts map[string]*misstepv1.CheckCount
	// mismatches of the checks that write records, most frequent first.
	mismatches []*misstepv1.Mismatch
	// lost is what could not be read of the records.
	lost losses
}

// bound drops the mismatches that a coordinator would refuse, and returns their number.
func (j *judgement) bound(checks []*misstepv1.Check) int {
	before := len(j.mismatches)
	j.mismatches = slices.DeleteFunc(j.mismatches, func(m *misstepv1.Mismatch) bool {
		asked := slices.ContainsFunc(checks, func(c *misstepv1.Check) bool { return c.GetName() == m.GetCheck() })
		return !asked || triage.Bounded(m) != nil
	})
	return before - len(j.mismatches)
}

// losses are what could not be read of mismatch records.
type losses struct {
	damaged int    // records
	excess  string // what was too much, in one line; "" if nothing was
}

// agentJudge gives the verdicts of the agent's checks, from its status file and its mismatch records.
type agentJudge struct{ *trial }

func (agentJudge) judges(check string) bool {
	known, ok := recipe.FindCheck(check)
	return ok && known.Slot != recipe.NoSlot
}

func (j agentJudge) judge(ctx context.Context, _ string, checks []*misstepv1.Check) (out judgement, err error) {
	out.counts = map[string]*misstepv1.CheckCount{}
	for _, c := range checks {
		out.counts[c.GetName()] = j.count(c.GetName())
	}
	records, err := readRecords(ctx, j.path(dirAgent, fileRecords))
	out.mismatches, out.lost = records.Mismatches, losses{records.Damaged + records.Torn, records.excess()}
	return out, err
}

// judges returns the judges whose checks a recipe may ask for.
func (t *trial) judges() []judge {
	return append([]judge{agentJudge{t}, recordedJudge{t}}, t.executor.judges...)
}

// judge collects the verdicts of all judges; the counts are in the order of the recipe's checks.
func (t *trial) judge(ctx context.Context) (counts []*misstepv1.CheckCount, mismatches []*misstepv1.Mismatch, lost losses,
	err error,
) {
	byName := map[string]*misstepv1.CheckCount{}
	for _, j := range t.judges() {
		own := slices.DeleteFunc(slices.Clone(t.recipe.GetChecks()),
			func(c *misstepv1.Check) bool { return !j.judges(c.GetName()) })
		if len(own) == 0 {
			continue
		}
		verdicts, err := j.judge(ctx, t.folder.Path, own)
		if err != nil {
			return nil, nil, losses{}, fmt.Errorf("judge %s: %w", own[0].GetName(), err)
		}
		for _, c := range own {
			byName[c.GetName()] = verdicts.counts[c.GetName()]
		}
		if refused := verdicts.bound(own); refused > 0 {
			lost.excess = cmp.Or(lost.excess,
				fmt.Sprintf("%d mismatches are too large, or of checks that the recipe does not ask for", refused))
		}
		mismatches = append(mismatches, verdicts.mismatches...)
		lost.damaged += verdicts.lost.damaged
		lost.excess = cmp.Or(lost.excess, verdicts.lost.excess)
	}
	for _, c := range t.recipe.GetChecks() {
		count := byName[c.GetName()]
		if count == nil {
			count = &misstepv1.CheckCount{Check: c.GetName()}
		}
		counts = append(counts, count)
	}
	noteDeoptimised(mismatches)
	return counts, mismatches, lost, nil
}
