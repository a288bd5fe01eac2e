package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"misstep/app/executors"
	"misstep/app/local"
	"misstep/bench"
	"misstep/bench/trial"
	"misstep/internal/home"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/signature"
	"misstep/triage"
)

// The part specificity runs trials without faults, as misstep run does, and counts the verdicts of all checks of recordings.

// unitsGoal is the number of units that each check is to judge without a false positive.
const unitsGoal = 1e6

// specificity counts verdicts.
type specificity struct {
	// Trials is the total, Planned the number of combinations. Failures are those that could not be run, or whose JVM crashed,
	// hung or did not verify its result.
	Trials, Planned int
	Failures        []string
	Counts          []*checkCount
	Families        []*family
	// Blind are the checks of a trial that judged nothing.
	Blind []blindCheck
	// Costs by profiler.
	Costs []*judgingCost
}

// checkCount is what a check judged on one JDK.
type checkCount struct {
	Check, JDK string
	Trials     int
	Total      uint64
	Match      uint64
	Mismatch   uint64
	// Named mismatches are known bugs. Unlisted ones are only counted by the trial: there is no record that could be named.
	Named, Unlisted uint64
	Tolerated, Void map[string]uint64
	Unwalkable      map[int32]uint64
}

// judged is the number of units with a verdict.
func (c *checkCount) judged() uint64 { return c.Match + sum(c.Tolerated) + c.Mismatch }

// family holds the mismatches of one signature.
type family struct {
	Check, Finding, Signature string
	// Known is the known bug, empty for none.
	Known           string
	Count           uint64
	JDKs, Profilers map[string]uint64
}

type blindCheck struct{ Check, JDK, Workload, Profiler, Void string }

// judgingCost is what judging took of the trials under a profiler.
type judgingCost struct {
	Profiler string
	Trials   int
	// Wall of the JVMs, and of reading and judging afterwards.
	Wall, Judging time.Duration
	// Shares of the two that judging took, by trial.
	Shares []float64 `json:"-"`
}

// measureSpecificity runs the combinations in turn, again with other seeds when all have run, until the time is over.
func measureSpecificity(ctx context.Context, bed *trial.Bed, until time.Time) (*specificity, error) {
	all, err := matrixOf(bed)
	if err != nil {
		return nil, err
	}
	folder, err := filepath.Abs(filepath.Join("build", "agent"))
	if err != nil {
		return nil, fmt.Errorf("find the agent: %w", err)
	}
	scratch, remove, err := executors.Scratch("misstep-bench-jfr-trials-")
	if err != nil {
		return nil, err
	}
	defer remove()
	host, err := executors.Host(local.Installation{Home: home.Dir(), AgentDir: folder}, nil, scratch)
	if err != nil {
		return nil, err
	}
	s := &specificity{Planned: len(all)}
	for n := 0; len(all) > 0 && ctx.Err() == nil && time.Now().Before(until); n++ {
		c := all[n%len(all)]
		s.trial(ctx, host, c, recipeOf(c, uint64(n), bed.Agent))
	}
	return s, nil
}

func (s *specificity) trial(ctx context.Context, host runner.Executor, c combination, r *misstepv1.Recipe) {
	outcome, err := host.Run(ctx, r, nil)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		s.Trials++
		s.Failures = append(s.Failures, fmt.Sprintf("%s: %v", c.name(), err))
	} else {
		s.add(c, outcome)
	}
	bench.Note("%s: %s %v, judged in %v", c.name(), short(outcome), outcome.GetWall().AsDuration().Round(time.Second),
		outcome.GetJudging().AsDuration().Round(time.Millisecond))
}

// short is the kind of an outcome in a word, with the reason.
func short(o *misstepv1.Outcome) string {
	kind := strings.ToLower(strings.TrimPrefix(o.GetKind().String(), "OUTCOME_KIND_"))
	return strings.TrimSpace(kind + " " + o.GetReason())
}

// add adds a trial's outcome.
func (s *specificity) add(c combination, o *misstepv1.Outcome) {
	s.Trials++
	switch o.GetKind() {
	case misstepv1.OutcomeKind_OUTCOME_KIND_CRASH, misstepv1.OutcomeKind_OUTCOME_KIND_HANG,
		misstepv1.OutcomeKind_OUTCOME_KIND_APPLICATION_FAILURE:
		s.Failures = append(s.Failures, c.name()+": "+short(o))
	default:
	}
	s.cost(profilerName(c.profiler), o)
	listed, named := map[string]uint64{}, map[string]uint64{}
	for _, m := range o.GetMismatches() {
		n := max(m.GetCount(), 1)
		listed[m.GetCheck()] += n
		if s.mismatch(c, m, n) {
			named[m.GetCheck()] += n
		}
	}
	for _, count := range o.GetChecks() {
		sum := s.count(count.GetCheck(), c.on.Name)
		one := &checkCount{Match: count.GetMatch(), Tolerated: count.GetTolerated(), Mismatch: count.GetMismatch()}
		sum.Trials++
		sum.Total += count.GetTotal()
		sum.Match += count.GetMatch()
		sum.Mismatch += count.GetMismatch()
		sum.Named += named[sum.Check]
		sum.Unlisted += count.GetMismatch() - min(count.GetMismatch(), listed[sum.Check])
		sum.Tolerated, sum.Void = added(sum.Tolerated, count.GetTolerated()), added(sum.Void, count.GetVoid())
		sum.Unwalkable = added(sum.Unwalkable, count.GetUnwalkable())
		if one.judged() == 0 {
			s.Blind = append(s.Blind, blindCheck{
				sum.Check, c.on.Name, c.workload.Name, profilerName(c.profiler), wordsOf(count.GetVoid()),
			})
		}
	}
}

// mismatch adds a record that stands for n mismatches, and reports whether they are a known bug.
func (s *specificity) mismatch(c combination, m *misstepv1.Mismatch, n uint64) bool {
	shown, _ := triage.Mismatch(m)
	id, label := signature.ID(shown), known.Default().Label(shown, c.on.Version)
	var f *family
	for _, old := range s.Families {
		if old.Finding == id && old.Known == label {
			f = old
		}
	}
	if f == nil {
		f = &family{
			Check: m.GetCheck(), Finding: id, Known: label, Signature: strings.Join(shown.GetParts(), " | "),
			JDKs: map[string]uint64{}, Profilers: map[string]uint64{},
		}
		s.Families = append(s.Families, f)
	}
	f.Count += n
	f.JDKs[c.on.Name] += n
	f.Profilers[profilerName(c.profiler)] += n
	return label != ""
}

// count returns the count of a check on a JDK.
func (s *specificity) count(check, jdk string) *checkCount {
	for _, c := range s.Counts {
		if c.Check == check && c.JDK == jdk {
			return c
		}
	}
	c := &checkCount{Check: check, JDK: jdk}
	s.Counts = append(s.Counts, c)
	return c
}

func (s *specificity) cost(profiler string, o *misstepv1.Outcome) {
	var cost *judgingCost
	for _, old := range s.Costs {
		if old.Profiler == profiler {
			cost = old
		}
	}
	if cost == nil {
		cost = &judgingCost{Profiler: profiler}
		s.Costs = append(s.Costs, cost)
	}
	wall, judging := o.GetWall().AsDuration(), o.GetJudging().AsDuration()
	cost.Trials++
	cost.Wall += wall
	cost.Judging += judging
	if judging > 0 {
		cost.Shares = append(cost.Shares, float64(judging)/float64(wall+judging))
	}
}

func (s *specificity) reached() string {
	return fmt.Sprintf("%d trials of %d combinations without faults", s.Trials, s.Planned)
}
