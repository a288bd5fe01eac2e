package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"misstep/agent"
	"misstep/bench"
	"misstep/bench/trial"
	"misstep/deploy/jdk"
	"misstep/internal/hserr"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/triage"
)

// calibrationSeeds is the number of independent searches for each bug.
const calibrationSeeds = 10

// trigger describes how to search for a known bug: workload, flags, checks.
type trigger struct {
	bug, workload string
	flags         []string
	checks        map[string]float64
	interval      time.Duration
	guesses       int
	ratio         float64 // of methods; 0 is 1
	// rule tolerates the bug's mismatches and counts them: the bug has been observed once the rule has fired.
	rule string
	// has reports whether a JDK of the catalogue may have the bug.
	has func(jdk.Entry) bool
}

// before returns a function that reports whether a JDK has the update's feature version and is older than the update.
func before(update [3]int) func(jdk.Entry) bool {
	return func(j jdk.Entry) bool {
		v, ok := known.ParseVersion(j.Version)
		return ok && v[0] == update[0] && slices.Compare(v[:], update[:]) < 0
	}
}

func everyJDK(jdk.Entry) bool { return true }

var (
	sampled        = map[string]float64{recipe.AsgctShadow: 1}
	smallCodeCache = []string{"-XX:ReservedCodeCacheSize=8m"}
)

// recipes are the triggers of the calibration list's bugs.
var recipes = []trigger{
	{
		bug: "JDK-8303444", workload: "clinit", flags: []string{"-XX:TieredStopAtLevel=1", "-Xcomp"},
		checks: map[string]float64{recipe.GstAsgct: 1}, has: func(j jdk.Entry) bool { return j.Feature > 8 },
	},
	// 11 has it as well, but no workload calls such methods there: agent/linked_jvm_test.go does.
	{
		bug: "JDK-8302320", workload: "churn", checks: map[string]float64{recipe.GstAsgct: 0.02},
		has: func(j jdk.Entry) bool { return j.Feature == 8 },
	},
	{bug: "MISSTEP-epilogue-fabrication", workload: "epilogue", checks: sampled, interval: 200 * time.Microsecond, has: everyJDK},
	{bug: "JDK-8178287", workload: "h2", checks: sampled, interval: 200 * time.Microsecond, has: everyJDK},
	{
		bug: "JDK-8022893", workload: "mix", checks: sampled, interval: 200 * time.Microsecond, rule: "inline-imprecision",
		has: everyJDK,
	},
	{
		bug: "MISSTEP-virtual-thread-thaw", workload: "vthread-yield", checks: map[string]float64{recipe.GstAsgct: 0.01},
		has: func(j jdk.Entry) bool { return j.Feature >= 21 },
	},
	{
		bug: "JDK-8352649", workload: "deopt", flags: smallCodeCache, checks: sampled, interval: 50 * time.Microsecond,
		guesses: 1024, ratio: 0.1,
		has: func(j jdk.Entry) bool { return j.Feature == 11 || before([3]int{17, 0, 16})(j) },
	},
	{
		bug: "JDK-8339133", workload: "deopt", flags: smallCodeCache, checks: sampled, interval: 50 * time.Microsecond,
		guesses: 1024, ratio: 0.1,
		has: before([3]int{8, 0, 422}),
	},
}

// calibration holds the searches for one bug, one per seed, alternating between the JDKs that have it.
type calibration struct {
	Bug, Workload string
	// Missing explains why no search was made.
	Missing  string
	Searches []*search

	by string // what identifies the bug, if not a label
}

// search is a search for one bug from one seed. It ends with the first hit.
type search struct {
	JDK  string
	Seed uint64
	Hit  bool
	// Trials and Seconds of JVM time until the hit, or until the search was abandoned.
	Trials  int
	Seconds float64

	on jdk.Entry
}

// measureCalibration searches for each bug from ten seeds, seed by seed, so that even a short budget covers all bugs. The remaining
// time is spent on the searches without a hit.
func measureCalibration(ctx context.Context, bed *trial.Bed, until time.Time) ([]calibration, error) {
	all := make([]calibration, len(recipes))
	jdks := make([][]jdk.Entry, len(recipes))
	searched := 0
	for i, r := range recipes {
		all[i] = calibration{Bug: r.bug, Workload: r.workload}
		if r.rule != "" {
			all[i].by = " (rule " + r.rule + ")"
		}
		jdks[i] = slices.DeleteFunc(slices.Clone(bed.JDKs), func(j jdk.Entry) bool { return !r.has(j) || !bed.Runs(j, r.workload) })
		if len(jdks[i]) == 0 {
			all[i].Missing = "the catalogue has no JDK that has it and runs " + r.workload
			continue
		}
		searched++
	}
	// Each remaining search has a share of the time: a bug that does not appear must not use up all of it.
	step := func(s *search, r trigger, left int, least time.Duration) (bool, error) {
		rest := time.Until(until)
		if rest <= 0 || ctx.Err() != nil {
			return false, nil
		}
		limited, cancel := context.WithTimeout(ctx, max(2*rest/time.Duration(left), least))
		defer cancel()
		return true, s.look(limited, bed, r)
	}
	left := searched * calibrationSeeds
	for seed := range calibrationSeeds {
		for i, r := range recipes {
			if all[i].Missing != "" {
				continue
			}
			s := &search{on: jdks[i][seed%len(jdks[i])], Seed: uint64(seed + 1)}
			s.JDK = s.on.Name
			if more, err := step(s, r, left, 20*time.Second); !more || err != nil {
				return all, err
			}
			left--
			all[i].Searches = append(all[i].Searches, s)
		}
	}
	for {
		type missed struct {
			*search
			of trigger
		}
		var open []missed
		for i, r := range recipes {
			for _, s := range all[i].Searches {
				if !s.Hit {
					open = append(open, missed{s, r})
				}
			}
		}
		for _, m := range open {
			if more, err := step(m.search, m.of, 2*len(open), time.Second); !more || err != nil {
				return all, err
			}
		}
		if len(open) == 0 {
			return all, nil
		}
	}
}

// look repeats trials, each with its own seed, until the bug is observed or ctx ends.
func (s *search) look(ctx context.Context, bed *trial.Bed, r trigger) error {
	start := time.Now()
	for ctx.Err() == nil && !s.Hit {
		s.Trials++
		result, err := bed.Run(ctx, trial.Spec{
			JDK: s.on, Workload: r.workload, Flags: append([]string{"-XX:ErrorFile=" + errorFile}, r.flags...),
			Agent: &agent.Options{
				Seed: s.Seed<<16 | uint64(s.Trials), Ratio: cmp.Or(r.ratio, 1), Checks: r.checks,
				Interval: r.interval, Jitter: 0.5, Guesses: r.guesses,
			},
		}, func(_ int, dir string) bool {
			s.Hit = s.Hit || r.shows(dir, s.on.Version)
			return !s.Hit
		})
		if err != nil {
			return err
		}
		s.Hit = s.Hit || r.shows(result.Dir, s.on.Version)
	}
	s.Seconds += time.Since(start).Seconds()
	bench.Note("%s on %s, seed %d: found %v, trial %d, %.1f s", r.bug, s.JDK, s.Seed, s.Hit, s.Trials, s.Seconds)
	return nil
}

const errorFile = "hs_err.log" // in the run's folder

// shows reports whether the files that a run has written so far show the bug.
func (r trigger) shows(dir, version string) bool {
	if r.rule != "" {
		status, err := agent.ReadStatus(filepath.Join(dir, "agent", "status.bin")) // does not exist at first
		return err == nil && slices.ContainsFunc(status.Checks, func(c agent.CheckCount) bool { return c.Tolerated[r.rule] > 0 })
	}
	if f, err := os.Open(filepath.Join(dir, errorFile)); err == nil {
		defer f.Close()
		if report, err := hserr.Parse(f); err == nil {
			signature, _ := triage.Crash(report.Crash)
			return known.Default().Label(signature, version) == r.bug
		}
	}
	found := false
	_ = eachMismatch(dir, func(m *misstepv1.Mismatch) error {
		signature, _ := triage.Mismatch(m)
		found = found || known.Default().Label(signature, version) == r.bug
		return nil
	})
	return found
}

// hits returns trials and seconds of the searches that hit.
func (c calibration) hits() (trials, seconds []float64) {
	for _, s := range c.Searches {
		if s.Hit {
			trials, seconds = append(trials, float64(s.Trials)), append(seconds, s.Seconds)
		}
	}
	return trials, seconds
}

func calibrationTable(all []calibration) bench.Table {
	t := bench.Table{
		Title: "calibration: known bugs, to the first hit",
		Columns: []string{
			"bug", "workload", "found", "median trials", "quartiles", "median seconds", "quartiles", "JDKs",
			"not found on",
		},
	}
	for _, c := range all {
		if c.Missing != "" {
			t.Rows = append(t.Rows, []string{c.Bug, c.Workload, c.Missing, "", "", "", "", "", ""})
			continue
		}
		quartiles := func(v []float64) string {
			return bench.Figure(bench.Quantile(v, 0.25)) + "–" + bench.Figure(bench.Quantile(v, 0.75))
		}
		on := map[bool]map[string]bool{true: {}, false: {}}
		for _, s := range c.Searches {
			on[s.Hit][s.JDK] = true
		}
		names := func(hit bool) string { return strings.Join(slices.Sorted(maps.Keys(on[hit])), " ") }
		trials, seconds := c.hits()
		t.Rows = append(t.Rows, []string{
			c.Bug + c.by, c.Workload, fmt.Sprintf("%d of %d", len(trials), len(c.Searches)), bench.Figure(bench.Median(trials)),
			quartiles(trials),
			bench.Figure(bench.Median(seconds)), quartiles(seconds), names(true), names(false),
		})
	}
	return t
}

func calibrationTrials(all []calibration) (n int) {
	for _, c := range all {
		for _, s := range c.Searches {
			n += s.Trials
		}
	}
	return n
}

func calibrationGoals(all []calibration) []bench.Goal {
	var goals []bench.Goal
	for _, c := range all {
		if c.Missing == "" {
			trials, _ := c.hits()
			goals = append(goals, bench.Goal{
				Name: c.Bug + " found in " + c.Workload, Goal: calibrationSeeds, Measured: float64(len(trials)),
				Unit: fmt.Sprintf("of %d searches", len(c.Searches)), AtLeast: true,
			})
		}
	}
	return goals
}
