package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"misstep/agent"
	"misstep/bench"
	"misstep/bench/trial"
	"misstep/deploy/jdk"
	"misstep/internal/faults"
	"misstep/internal/interval"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/triage"
)

// Shares in per cent: of visible faults those that must be detected, of their records those without the label of a known bug.
const (
	sensitivityGoal = 99
	labelsGoal      = 99
)

// leastVisible is the least number of visible faults whose share can be compared with the goal.
const leastVisible = 100

// sensitivity counts the verdicts on injected faults.
type sensitivity struct {
	Runs int
	// Background counts mismatches of walks that were not altered, by check: they are real, and show how many detections may be
	// coincidence.
	Background map[string]uint64
	Cells      map[string]*cell // by class and check
	// Rates counts visible and detected faults by rate of injection.
	Rates map[string]*[2]uint64
}

// cell is one class of faults under one check. A fault is checked if the check's verdict on its walk is not void.
type cell struct {
	Class, Check string
	// Void verdicts prove nothing, and too many of them mask a class; Checked = Visible + the sum of Blind.
	Checked, Void, Visible, Detected uint64
	// Blind faults by the reason why this check's reference cannot see them, and how many of them it detected nevertheless.
	Blind map[string]*[2]uint64
	// Missed visible faults by their verdict.
	Missed map[string]uint64
	// Recorded are the detected ones with a record, Known those that triage takes for known bugs: there a new bug of that class
	// would be overlooked.
	Recorded uint64
	Known    map[string]uint64
}

func newSensitivity() *sensitivity {
	return &sensitivity{Background: map[string]uint64{}, Cells: map[string]*cell{}, Rates: map[string]*[2]uint64{}}
}

// Reasons for which a reference cannot see a fault. They are the named exceptions of the goal.
const (
	blindLocation  = "the shadow stack holds methods, no locations"
	blindUntouched = "only frames that the shadow stack does not hold: not instrumented, or in their push or pop"
	blindTop       = "only the top instrumented frame, or a stale answer that differs in the top physical frame alone: the " +
		"frame may be in its entry, or the debug information imprecise"
	blindCode       = "a code that ASGCT may return there: nothing shows whether the stack could be walked"
	blindLate       = "a late but correct walk is not a fault: liveness checks for walks that do not return"
	blindCollection = "-2 means that a collection is in progress: the walk is repeated, without the fault"
	blindPairs      = "edges checks adjacent frames: a whole stack of another thread or time, or a part of one, has no " +
		"impossible edge"
	blindMoved = "a bracket compares up to the first loop, above which all frames may be new: it sees frames missing at " +
		"the bottom, and impossible answers"
)

// bracketSees are the classes that a bracket's reference can see whatever the thread did in between.
var bracketSees = []string{faults.DropBottom, faults.Truncate, faults.UnknownMethod, faults.InvalidCode}

// edgesSee are the classes that make frames adjacent which were not. Some of the resulting edges are nevertheless possible, as in a
// recursion.
var edgesSee = []string{faults.DropMiddle, faults.Duplicate, faults.Swap, faults.Replace, faults.WrongBci}

// blind returns the reason why a check's reference cannot see a fault, empty if it can.
func blind(check string, f *faults.Fault) string {
	v := f.Verdicts[check]
	if f.Class == faults.Delay {
		return blindLate
	}
	switch check {
	case recipe.GstAsgct:
		if f.Class == faults.WrongCode && f.After == -2 {
			return blindCollection
		}
	case recipe.AsgctGstBracket:
		if !slices.Contains(bracketSees, f.Class) {
			return blindMoved
		}
	case recipe.Edges:
		if !slices.Contains(edgesSee, f.Class) {
			return blindPairs
		}
	case recipe.AsgctShadow:
		switch {
		case f.Class == faults.InvalidCode, f.Class == faults.UnknownMethod:
		case f.Class == faults.WrongCode && f.After == -10: // HotSpot never returns it
		// the only codes for a thread in Java
		case f.Class == faults.WrongCode && v.InJava && !slices.Contains([]int32{-2, -5, -6}, f.After):
		case f.Class == faults.WrongCode:
			return blindCode
		case !v.MethodsChanged:
			return blindLocation
		case v.Reach == 0:
			return blindUntouched
		case v.Reach == 1:
			return blindTop
		case f.Class == faults.Stale && v.TopOnly: // all its positions exist in the code
			return blindTop
		}
	}
	return ""
}

// byTraces is asgct-shadow with a trace stack, which shows locations and frames that the shadow stack does not hold. Faults that
// the shadow stack cannot see count as blind here as well, detected or not.
const byTraces = "asgct-shadow by traces"

// promised are the checks that have a goal for each class; the others are only reported.
var promised = []string{recipe.GstAsgct, recipe.AsgctShadow, recipe.AsgctGstBracket}

// unseen are the classes of which a promised check's reference can see nothing; for the others, blind decides fault by fault.
var unseen = map[string][]string{
	recipe.AsgctShadow: {faults.DropTop, faults.WrongBci},
	recipe.AsgctGstBracket: slices.DeleteFunc(slices.Clone(faults.Alterations),
		func(class string) bool { return slices.Contains(bracketSees, class) }),
}

func (s *sensitivity) add(rate float64, version, reference string, r trial.Result) {
	s.Runs++
	labels := labelsOf(r.Dir, version)
	detected := map[string]uint64{}
	for _, f := range r.Faults.Faults {
		for check, v := range f.Verdicts {
			name := check
			if check == recipe.AsgctShadow && reference != "" {
				name = byTraces
			}
			key := f.Class + " " + name
			c := s.Cells[key]
			if c == nil {
				c = &cell{
					Class: f.Class, Check: name, Blind: map[string]*[2]uint64{}, Missed: map[string]uint64{},
					Known: map[string]uint64{},
				}
				s.Cells[key] = c
			}
			if v.Outcome == faults.Void {
				c.Void++
				continue
			}
			c.Checked++
			hit := v.Outcome == faults.Mismatch
			if hit {
				detected[check]++
			}
			if why := blind(check, f); why != "" {
				if c.Blind[why] == nil {
					c.Blind[why] = &[2]uint64{}
				}
				c.Blind[why][0]++
				if hit {
					c.Blind[why][1]++
				}
				continue
			}
			c.Visible++
			by := s.rate(rate)
			by[0]++
			if hit {
				c.Detected++
				by[1]++
				if label, ok := labels[place{check, f.AtEntry, f.Number()}]; ok {
					c.Recorded++
					if label != "" {
						c.Known[label]++
					}
				}
			} else {
				c.Missed[strings.TrimSpace(fmt.Sprintf("%s %s", outcomes[v.Outcome], v.Detail))]++
			}
		}
	}
	for _, c := range r.Status.Checks {
		if c.Mismatch > detected[c.Name] {
			s.Background[c.Name] += c.Mismatch - detected[c.Name]
		}
	}
}

// place is a walk that a check judged.
type place struct {
	check string
	entry bool
	walk  uint64
}

// labelsOf returns the known bug, or none, to which triage assigns each recorded mismatch of a run.
func labelsOf(dir, version string) map[place]string {
	labels := map[place]string{}
	_ = eachMismatch(dir, func(m *misstepv1.Mismatch) error {
		signature, _ := triage.Mismatch(m)
		labels[place{m.GetCheck(), m.GetPc() == 0 && len(m.GetCode()) == 0, m.GetSequence()}] = known.Default().Label(signature,
			version)
		return nil
	})
	return labels
}

var outcomes = map[faults.Outcome]string{faults.Match: "match", faults.Tolerated: "tolerated", faults.Unwalkable: "unwalkable"}

func (s *sensitivity) rate(rate float64) *[2]uint64 {
	key := fmt.Sprintf("%.0e", rate)
	if s.Rates[key] == nil {
		s.Rates[key] = &[2]uint64{}
	}
	return s.Rates[key]
}

// bracketRuns: one run in so many has brackets alone; each of nine JDKs is covered.
const bracketRuns = 5

// runLimit bounds a run, so that there are many; the faults up to then count.
const runLimit = 40 * time.Second

// measure injects into real workloads on every JDK until the time is up. High rates provide the counts, low ones show that rarity
// makes no difference.
func (s *sensitivity) measure(ctx context.Context, bed *trial.Bed, until time.Time) error {
	rates := []float64{1e-2, 1e-2, 1e-3, 1e-2, 1e-4, 1e-2, 1e-2, 1e-5}
	programs := []string{"mix", "h2", "javac", "lucene", "epilogue"}
	jdks := slices.DeleteFunc(slices.Clone(bed.JDKs), func(j jdk.Entry) bool { return !bed.Runs(j, programs[0]) })
	for i := 0; len(jdks) > 0 && ctx.Err() == nil && time.Now().Before(until); i++ {
		j := jdks[i%len(jdks)]
		program := programs[(i+i/len(jdks))%len(programs)]
		if !bed.Runs(j, program) {
			program = programs[0]
		}
		rate := rates[i/2%len(rates)]
		options := agent.Options{Ratio: 1, Checks: checks(0.002), Interval: 200 * time.Microsecond}
		// Faults are spread evenly over walks, and most walks are at entries: so some runs have brackets alone, or samples.
		alone := ""
		switch {
		case i%bracketRuns == bracketRuns-1:
			alone = recipe.AsgctGstBracket
		case (i+i/len(jdks))%2 == 1:
			alone = recipe.AsgctShadow
		}
		if alone != "" {
			options.Checks, options.Interval = map[string]float64{
				alone: 1, recipe.Edges: 1,
				recipe.Liveness: 1,
			}, 50*time.Microsecond
		}
		if i%tracedRuns == 0 && alone != recipe.AsgctGstBracket {
			options.Reference = traced
		}
		options.Seed, options.Jitter, options.Evidence, options.MaxMismatches = uint64(i), 0.5, "every", 4096
		limited, cancel := context.WithTimeout(ctx, runLimit)
		r, err := bed.Run(limited, trial.Spec{
			JDK: j, Workload: program, Repetitions: 1,
			Agent: &options,
			Faults: &faults.Plan{
				Classes: append(slices.Clone(faults.Alterations), faults.Delay), Rate: rate, Seed: uint32(i),
				Delay: 2 * time.Millisecond,
			},
		}, nil)
		cancel()
		if err != nil {
			return err
		}
		bench.Note("faults at %.0e in %s on %s: %d walks, %d faults %s",
			rate, program, j.Name, r.Faults.Walks, r.Faults.Made, r.Failure)
		s.add(rate, j.Version, options.Reference, r)
	}
	return nil
}

func (s *sensitivity) table() bench.Table {
	t := bench.Table{
		Title: "sensitivity: injected faults that fell into checked samples",
		Columns: []string{
			"class", "check", "void", "checked", "blind (detected)", "visible", "detected", "share", "95 % interval",
			"missed as", "taken for known bugs",
		},
	}
	for _, class := range append(slices.Clone(faults.Alterations), faults.Delay) {
		for _, check := range append(recipe.Names(recipe.AgentChecks()), byTraces) {
			c := s.Cells[class+" "+check]
			if c == nil {
				continue
			}
			low, high := interval.Wilson(c.Detected, c.Visible)
			share, interval := "-", "-"
			if c.Visible > 0 {
				share = fmt.Sprintf("%.2f %%", 100*float64(c.Detected)/float64(c.Visible))
				interval = fmt.Sprintf("%.2f–%.2f", 100*low, 100*high)
			}
			var missed []string
			for _, how := range slices.Sorted(maps.Keys(c.Missed)) {
				missed = append(missed, fmt.Sprintf("%d %s", c.Missed[how], how))
			}
			var blinds, seen uint64
			for _, n := range c.Blind {
				blinds, seen = blinds+n[0], seen+n[1]
			}
			t.Rows = append(t.Rows, []string{
				class, check, fmt.Sprint(c.Void), fmt.Sprint(c.Checked), fmt.Sprintf("%d (%d)", blinds, seen),
				fmt.Sprint(c.Visible), fmt.Sprint(c.Detected), share, interval,
				strings.Join(missed, ", "), c.known(),
			})
		}
	}
	for _, why := range []string{
		blindLocation, blindUntouched, blindTop, blindCode, blindLate, blindCollection, blindPairs,
		blindMoved,
	} {
		var n, hit uint64
		for _, c := range s.Cells {
			if b := c.Blind[why]; b != nil {
				n, hit = n+b[0], hit+b[1]
			}
		}
		t.Rows = append(t.Rows, []string{"", "blind", "", fmt.Sprint(n), "", "", fmt.Sprint(hit), "", "", why, ""})
	}
	for _, rate := range slices.Sorted(maps.Keys(s.Rates)) {
		n := s.Rates[rate]
		low, high := interval.Wilson(n[1], n[0])
		t.Rows = append(t.Rows, []string{
			"all", "rate " + rate, "", "", "", fmt.Sprint(n[0]), fmt.Sprint(n[1]),
			fmt.Sprintf("%.2f %%", 100*float64(n[1])/float64(n[0])),
			fmt.Sprintf("%.2f–%.2f", 100*low, 100*high), "", "",
		})
	}
	for _, check := range slices.Sorted(maps.Keys(s.Background)) {
		t.Rows = append(t.Rows, []string{
			"none", check, "", "", "", "", fmt.Sprint(s.Background[check]), "", "",
			"mismatches of walks that were not altered", "",
		})
	}
	return t
}

// known returns how many of the recorded faults triage takes for known bugs, and the most frequent one.
func (c *cell) known() string {
	if c.Recorded == 0 {
		return "-"
	}
	var n, most uint64
	var bug string
	for _, label := range slices.Sorted(maps.Keys(c.Known)) {
		n += c.Known[label]
		if c.Known[label] > most {
			bug, most = label, c.Known[label]
		}
	}
	return strings.TrimSpace(fmt.Sprintf("%d of %d %s", n, c.Recorded, bug))
}

func (s *sensitivity) goals() []bench.Goal {
	var goals []bench.Goal
	for _, check := range promised {
		for _, class := range faults.Alterations {
			c := s.Cells[class+" "+check]
			if slices.Contains(unseen[check], class) {
				continue
			}
			if c == nil {
				c = &cell{}
			}
			measured := math.NaN() // no proof, no pass
			if c.Visible >= leastVisible {
				measured = 100 * float64(c.Detected) / float64(c.Visible)
			}
			goals = append(goals, bench.Goal{
				Name: fmt.Sprintf("%s detected by %s (%d visible)", class, check, c.Visible), Goal: sensitivityGoal,
				Measured: measured, Unit: "%", AtLeast: true,
			})
		}
	}
	return append(goals, s.labels())
}

// labels is the share of the injected faults' records that triage takes for no known bug: what is not caused by one has no label.
func (s *sensitivity) labels() bench.Goal {
	var recorded, labelled uint64
	for _, c := range s.Cells {
		recorded += c.Recorded
		for _, n := range c.Known {
			labelled += n
		}
	}
	goal := bench.Goal{
		Name: fmt.Sprintf("faults without the label of a known bug (%d of %d have one)", labelled, recorded), Goal: labelsGoal,
		Measured: math.NaN(), Unit: "%", AtLeast: true,
	}
	if recorded >= leastVisible {
		goal.Measured = 100 * float64(recorded-labelled) / float64(recorded)
	}
	return goal
}
