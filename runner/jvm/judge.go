package jvm

import (
	"context"
	"fmt"
	"slices"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
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
	// damaged counts the records that could not be read.
	damaged int
}

// agentJudge gives the verdicts of the agent's checks, from its status file and its mismatch records.
type agentJudge struct{ *trial }

func (agentJudge) judges(check string) bool {
	known, ok := recipe.FindCheck(check)
	return ok && known.Slot != recipe.NoSlot
}

func (j agentJudge) judge(_ context.Context, _ string, checks []*misstepv1.Check) (out judgement, err error) {
	out.counts = map[string]*misstepv1.CheckCount{}
	for _, c := range checks {
		out.counts[c.GetName()] = j.count(c.GetName())
	}
	out.mismatches, out.damaged, err = readRecords(j.path(dirAgent, fileRecords))
	return out, err
}

// judges returns the judges whose checks a recipe may ask for.
func (t *trial) judges() []judge {
	return append([]judge{agentJudge{t}, recordedJudge{t}}, t.executor.judges...)
}

// judge collects the verdicts of all judges; the counts are in the order of the recipe's checks.
func (t *trial) judge(ctx context.Context) (counts []*misstepv1.CheckCount, mismatches []*misstepv1.Mismatch, damaged int,
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
			return nil, nil, 0, fmt.Errorf("judge %s: %w", own[0].GetName(), err)
		}
		for _, c := range own {
			byName[c.GetName()] = verdicts.counts[c.GetName()]
		}
		mismatches = append(mismatches, verdicts.mismatches...)
		damaged += verdicts.damaged
	}
	for _, c := range t.recipe.GetChecks() {
		count := byName[c.GetName()]
		if count == nil {
			count = &misstepv1.CheckCount{Check: c.GetName()}
		}
		counts = append(counts, count)
	}
	return counts, mismatches, damaged, nil
}
