package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/agent"
	"misstep/bench"
	"misstep/bench/trial"
	"misstep/deploy/jdk"
	"misstep/deploy/jdk/preset"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/signature"
	"misstep/triage"
	"misstep/workloads"
)

// specificity counts checks without faults and classifies the mismatches among them.
type specificity struct {
	// Runs is the total, Stopped the number of those stopped at their time limit.
	Runs, Stopped int
	// Failures are runs whose workload did not verify its result, JVM crashes among them.
	Failures []string
	Checks   map[string]agent.CheckCount
	// Traced samples of asgct-shadow were also compared with the trace stack.
	Traced uint64
	// Families by finding and, after a space, the known bug: a signature may be a known bug on some JDKs only.
	Families map[string]*family
	// Unrecorded mismatches exceeded the limit of records: by check.
	Unrecorded map[string]uint64
	// Programs are pairs of a JDK and a workload that it runs; Covered those in which a check gave a verdict, by check.
	Programs int
	Covered  map[string]map[string]bool
	// Presets that were used; the empty one stands for none.
	Presets map[string]bool

	bundles string // folder of the families' bundles and of failed runs; empty: none are written
}

// family holds the mismatches of one signature on the JDKs on which it is the same known bug, or none.
type family struct {
	// Finding is the id that triage gives the signature, Signature its parts, Known the known bug, empty if it is unexplained.
	Finding, Signature, Known string
	Count                     uint64
	Check                     string
	JDKs, Workloads           map[string]bool
	// Examples are records of unexplained ones, with both stacks.
	Examples []json.RawMessage `json:",omitempty"`
	// Bundles reproduce the recorded mismatches: every kept unexplained one, the first of a known bug.
	Bundles []string `json:",omitempty"`
}

// mostExamples bounds the examples of one finding.
const mostExamples = 16

func newSpecificity(bundles string) *specificity {
	return &specificity{
		bundles: bundles, Checks: map[string]agent.CheckCount{}, Families: map[string]*family{}, Unrecorded: map[string]uint64{},
		Covered: map[string]map[string]bool{}, Presets: map[string]bool{},
	}
}

// checksGoal is the number of checks of each kind to be made without a false positive.
const checksGoal = 10e6

// setting is one way to run a workload, chosen to make many checks of one kind.
type setting struct {
	check string
	// longer multiplies the workload's repetitions; a run is stopped at its time limit. While a JVM is busy compiling, only a fifth
	// of the brackets are answered.
	longer uint32
	// weight is the setting's share of a program's time: higher where fewer checks are made per second.
	weight   int
	ratio    float64
	checks   map[string]float64
	interval time.Duration
}

var settings = []setting{
	{recipe.GstAsgct, 1, 1, 1, checks(0.002), time.Millisecond},
	{
		recipe.AsgctShadow, 5, 2, 1,
		map[string]float64{recipe.AsgctShadow: 1, recipe.Edges: 1, recipe.Liveness: 1},
		50 * time.Microsecond,
	},
	{
		recipe.AsgctGstBracket, 50, 5, 0,
		map[string]float64{recipe.AsgctGstBracket: 1, recipe.Edges: 1, recipe.Liveness: 1},
		50 * time.Microsecond,
	},
}

// traced compares samples with the trace stack as well, in one of tracedRuns runs of asgct-shadow: it is expensive.
const (
	traced     = "trace:0.01"
	tracedRuns = 4 // each of nine JDKs is covered
)

// The time is divided so that every program runs in every setting, within bounds: a JVM needs some time to start.
const (
	leastRun = 6 * time.Second
	mostRun  = runLimit
)

// program is a workload on a JDK.
type program struct {
	jdk      jdk.Entry
	workload workloads.Entry
	manifest workloads.Manifest
}

func (p program) name() string { return p.workload.Name + " on " + p.jdk.Name }

// trialRun is one program in one setting.
type trialRun struct {
	program
	recipe *misstepv1.Recipe
}

func (r trialRun) name() string {
	return strings.Join(append([]string{r.program.name()}, r.recipe.GetJvmFlags()...), " ")
}

func (in setting) trial(p program, seed uint64, limit time.Duration, flags []string, artefacts agent.Artefacts) trialRun {
	r := &misstepv1.Recipe{
		Jdk: &misstepv1.Jdk{Name: p.jdk.Name, Digest: p.jdk.Digest.String(), Version: p.jdk.Version},
		Workload: &misstepv1.Workload{
			Name: p.workload.Name, Digest: p.workload.Digest.String(),
			Repetitions: p.manifest.Repetitions * in.longer,
		},
		Instrumentation: &misstepv1.Instrumentation{Ratio: in.ratio},
		Sampling:        &misstepv1.Sampling{Interval: durationpb.New(in.interval), Jitter: 0.5},
		Limits:          &misstepv1.Limits{Mismatches: 16384, Wall: durationpb.New(limit)},
		JvmFlags:        flags,
		Seed:            seed, AgentDigest: artefacts.Digest,
	}
	for _, name := range slices.Sorted(maps.Keys(in.checks)) {
		r.Checks = append(r.Checks, &misstepv1.Check{Name: name, Share: in.checks[name]})
		if name == in.check && name == recipe.AsgctShadow && seed%tracedRuns == 0 {
			r.Checks[len(r.Checks)-1].Reference = traced
		}
		if name == recipe.Liveness {
			r.Checks[len(r.Checks)-1].Interval = durationpb.New(time.Millisecond)
		}
	}
	return trialRun{p, r}
}

// presetOf returns the name of a run's preset: every other program has one, and in the next round the others do.
func presetOf(n, programs int) string {
	names := preset.Names()
	if (n%programs+n/programs)%2 == 0 {
		return ""
	}
	return names[n/2%len(names)]
}

// measure runs every workload on every JDK in every setting, in turn, until the time is up; a setting whose check has reached its
// number and has run in every program is skipped.
func (s *specificity) measure(ctx context.Context, bed *trial.Bed, until time.Time) error {
	if s.bundles != "" {
		before := s.bundles + "-before" // a run of a minute must not destroy the results of one of hours
		if err := errors.Join(os.RemoveAll(before), os.MkdirAll(s.bundles, 0o755), os.Rename(s.bundles, before)); err != nil {
			return fmt.Errorf("empty the folder of bundles: %w", err)
		}
	}
	programs, err := programsOf(bed)
	if err != nil || len(programs) == 0 {
		return err
	}
	s.Programs = len(programs)
	limits := limitsOf(settings, time.Until(until)/time.Duration(len(programs)))
	for n, open := 0, true; open; n++ {
		open = false
		p, name := programs[n%len(programs)], presetOf(n, len(programs))
		flags, err := bed.Flags(ctx, p.jdk, name)
		if err != nil {
			return err
		}
		if len(flags) == 0 {
			name = ""
		}
		for i, in := range settings {
			enough := judged(s.Checks[in.check]) >= checksGoal && n >= len(programs)
			if enough || ctx.Err() != nil || !time.Now().Before(until) {
				continue
			}
			open = true
			s.Presets[name] = true
			for _, limit := range turns(limits[i]) {
				if err := s.one(ctx, bed, in.check, in.trial(p, uint64(n), limit, flags, bed.Agent)); err != nil {
					return err
				}
				if s.Covered[in.check][p.name()] || !time.Now().Before(until) {
					break
				}
			}
		}
	}
	return nil
}

// limitsOf divides a program's time among settings, sorted by weight; time spent on the minimum of a run is no longer available to
// the others.
func limitsOf(settings []setting, each time.Duration) []time.Duration {
	weights := 0
	for _, in := range settings {
		weights += in.weight
	}
	limits := make([]time.Duration, len(settings))
	for i, in := range settings {
		limits[i] = min(max(each*time.Duration(in.weight)/time.Duration(weights), leastRun), mostRun).Truncate(time.Second)
		each, weights = each-limits[i], weights-in.weight
	}
	return limits
}

// turns returns the lengths of the runs of a program in a setting until its check has given a verdict: a program that is slow to
// start gets a second, longer run.
func turns(limit time.Duration) []time.Duration {
	if longer := min(4*limit, mostRun); longer > limit {
		return []time.Duration{limit, longer}
	}
	return []time.Duration{limit}
}

// programsOf returns all programs of the catalogue, each JDK beginning with a different workload.
func programsOf(bed *trial.Bed) ([]program, error) {
	fit := make([][]workloads.Entry, len(bed.JDKs))
	most := 0
	for i, j := range bed.JDKs {
		var err error
		if fit[i], err = bed.Workloads(j); err != nil {
			return nil, err
		}
		most = max(most, len(fit[i]))
	}
	var programs []program
	for n := range most {
		for i, j := range bed.JDKs {
			if n < len(fit[i]) {
				w := fit[i][(i+n)%len(fit[i])]
				manifest, err := workloads.Load(w.Path)
				if err != nil {
					return nil, err
				}
				programs = append(programs, program{j, w, manifest})
			}
		}
	}
	return programs, nil
}

// judged returns the number of checks with a verdict on a stack: neither unwalkable nor void.
func judged(c agent.CheckCount) uint64 { return c.Match + sum(c.Tolerated) + c.Mismatch }

func (s *specificity) one(ctx context.Context, bed *trial.Bed, check string, of trialRun) error {
	limited, cancel := context.WithTimeout(ctx, recipe.Wall(of.recipe))
	defer cancel()
	options := agent.OptionsOf(of.recipe, "")
	r, err := bed.Run(limited, trial.Spec{
		JDK: of.jdk, Workload: of.workload.Name,
		Repetitions: of.recipe.GetWorkload().GetRepetitions(), Flags: of.recipe.GetJvmFlags(), Agent: &options,
	}, nil)
	if err != nil {
		return err
	}
	s.Runs++
	if r.Stopped { // the run need not have ended, but every walk must have
		s.Stopped++
		r.Failure = r.HungWalk()
	}
	if r.Failure == "" {
		r.Failure = r.ErrorFile()
	}
	bench.Note("no faults in %s: %d of %s in %v %s", of.name(), judged(r.Check(check)), check, r.Wall.Round(time.Second), r.Failure)
	if r.Failure != "" {
		what := of.name() + ": " + r.Failure
		if s.bundles != "" {
			kept := filepath.Join(s.bundles, "failed", filepath.Base(r.Dir))
			what += " (" + kept + ")"
			if err := os.CopyFS(kept, os.DirFS(r.Dir)); err != nil {
				what += fmt.Sprintf(" incompletely kept: %v", err)
			}
		}
		s.Failures = append(s.Failures, what)
	}
	s.Traced += r.Status.Traced
	missing := map[string]uint64{}
	for _, c := range r.Status.Checks {
		sum := s.Checks[c.Name]
		sum.Name = c.Name
		sum.Total += c.Total
		sum.Match += c.Match
		sum.Mismatch += c.Mismatch
		sum.Tolerated = added(sum.Tolerated, c.Tolerated)
		sum.Unwalkable = added(sum.Unwalkable, c.Unwalkable)
		sum.Void = added(sum.Void, c.Void)
		s.Checks[c.Name] = sum
		missing[c.Name] = c.Mismatch
		if judged(c) > 0 {
			if s.Covered[c.Name] == nil {
				s.Covered[c.Name] = map[string]bool{}
			}
			s.Covered[c.Name][of.program.name()] = true
		}
	}
	if err := eachMismatch(r.Dir, func(m *misstepv1.Mismatch) error {
		missing[m.GetCheck()] -= min(missing[m.GetCheck()], m.GetCount())
		return s.mismatch(ctx, m, bed, of)
	}); err != nil {
		s.Failures = append(s.Failures, fmt.Sprintf("%s: %v", of.name(), err))
	}
	for check, n := range missing {
		s.Unrecorded[check] += n
	}
	return nil
}

// eachMismatch reads the mismatches that a run has recorded so far.
func eachMismatch(dir string, use func(*misstepv1.Mismatch) error) error {
	data, err := os.ReadFile(filepath.Join(dir, "agent", "mismatches.jsonl"))
	if err != nil {
		return fmt.Errorf("read mismatches: %w", err)
	}
	for line := range bytes.Lines(data) {
		if !bytes.HasSuffix(line, []byte("\n")) { // a stopped run may leave an incomplete last line
			break
		}
		var m misstepv1.Mismatch
		if err := protojson.Unmarshal(line, &m); err != nil {
			return fmt.Errorf("read mismatches of %s: %w", dir, err)
		}
		if err := use(&m); err != nil {
			return err
		}
	}
	return nil
}

func (s *specificity) mismatch(ctx context.Context, m *misstepv1.Mismatch, bed *trial.Bed, of trialRun) error {
	shown, title := triage.Mismatch(m)
	id, label := signature.ID(shown), known.Default().Label(shown, of.jdk.Version)
	key := strings.TrimSpace(id + " " + label)
	f := s.Families[key]
	if f == nil {
		f = &family{
			Finding: id, Signature: strings.Join(shown.GetParts(), " | "), Known: label, Check: m.GetCheck(),
			JDKs: map[string]bool{}, Workloads: map[string]bool{},
		}
		s.Families[key] = f
	}
	f.Count += m.GetCount()
	f.JDKs[of.jdk.Name], f.Workloads[of.workload.Name] = true, true
	if label == "" && len(f.Examples) < mostExamples {
		example, err := protojson.Marshal(m)
		if err != nil {
			return fmt.Errorf("keep an unexplained mismatch: %w", err)
		}
		f.Examples = append(f.Examples, example)
	}
	if s.bundles == "" || len(f.Bundles) >= max(1, len(f.Examples)) {
		return nil
	}
	name := strings.ReplaceAll(key, " ", "-")
	if n := len(f.Bundles); n > 0 {
		name = fmt.Sprintf("%s-%d", name, n+1)
	}
	path := filepath.Join(s.bundles, name+".zip")
	f.Bundles = append(f.Bundles, path)
	return writeBundle(context.WithoutCancel(ctx), path, &misstepv1.Finding{
		Id: id, Signature: shown, Title: title, KnownAs: label, Hits: 1, ExampleRecipe: of.recipe,
		Example: &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES, Mismatches: []*misstepv1.Mismatch{m}},
	}, bed.Agent, of)
}

func added[K comparable](sum, more map[K]uint64) map[K]uint64 {
	if sum == nil {
		sum = map[K]uint64{}
	}
	for k, n := range more {
		sum[k] += n
	}
	return sum
}

func (s *specificity) countTable() bench.Table {
	t := bench.Table{
		Title: "specificity: checks without faults",
		Columns: []string{
			"check", "total", "judged", "match", "tolerated", "unwalkable", "void", "mismatch", "known",
			"unexplained", "not recorded", "in programs",
		},
	}
	for _, name := range recipe.Names(recipe.AgentChecks()) {
		c := s.Checks[name]
		explained, unexplained := s.split(name)
		t.Rows = append(t.Rows, []string{
			name, fmt.Sprint(c.Total), fmt.Sprint(judged(c)), fmt.Sprint(c.Match), fmt.Sprint(sum(c.Tolerated)),
			fmt.Sprint(sum(c.Unwalkable)), fmt.Sprint(sum(c.Void)),
			fmt.Sprint(c.Mismatch), fmt.Sprint(explained), fmt.Sprint(unexplained), fmt.Sprint(s.Unrecorded[name]),
			fmt.Sprintf("%d of %d", len(s.Covered[name]), s.Programs),
		})
	}
	t.Rows = append(t.Rows, []string{
		"asgct-shadow also by the trace stack", "", fmt.Sprint(s.Traced), "", "", "", "", "", "", "",
		"", "",
	})
	return t
}

// runsTable lists the presets of flags with which programs ran, and the runs that failed.
func (s *specificity) runsTable() bench.Table {
	t := bench.Table{Title: "runs", Columns: []string{"what", "which"}}
	for _, name := range slices.Sorted(maps.Keys(s.Presets)) {
		t.Rows = append(t.Rows, []string{"with flags", cmp.Or(name, "none but the workload's")})
	}
	for _, f := range s.Failures {
		t.Rows = append(t.Rows, []string{"failed", f})
	}
	return t
}

func sum[K comparable](m map[K]uint64) (n uint64) {
	for _, v := range m {
		n += v
	}
	return n
}

func (s *specificity) split(check string) (explained, unexplained uint64) {
	for _, f := range s.Families {
		switch {
		case f.Check != check:
		case f.Known != "":
			explained += f.Count
		default:
			unexplained += f.Count
		}
	}
	return explained, unexplained
}

func (s *specificity) familyTable() bench.Table {
	t := bench.Table{Title: "mismatches by finding", Columns: []string{
		"finding", "count", "known as", "signature", "JDKs",
		"workloads",
	}}
	all := slices.SortedFunc(maps.Values(s.Families), func(a, b *family) int {
		return cmp.Or(cmp.Compare(a.Known, b.Known), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Finding, b.Finding))
	})
	for _, f := range all {
		label := cmp.Or(f.Known, "UNEXPLAINED")
		t.Rows = append(t.Rows, []string{
			f.Finding, fmt.Sprint(f.Count), label, f.Signature, strings.Join(slices.Sorted(maps.Keys(f.JDKs)), " "),
			strings.Join(slices.Sorted(maps.Keys(f.Workloads)), " "),
		})
	}
	return t
}

func (s *specificity) goals() []bench.Goal {
	goals := []bench.Goal{{Name: "runs that failed", Goal: 0, Measured: float64(len(s.Failures)), Unit: "runs"}}
	for _, name := range recipe.Names(recipe.AgentChecks()) {
		_, unexplained := s.split(name)
		unexpected := float64(unexplained + s.Unrecorded[name])
		// it has no mismatches: a thread that is overdue in a walk is judged from outside, so it counts as a mismatch here
		if name == recipe.Liveness {
			unexpected += float64(s.Checks[name].Void["overdue"])
		}
		if judged(s.Checks[name]) == 0 { // no proof, no pass
			unexpected = math.NaN()
		}
		goals = append(goals,
			bench.Goal{Name: "unexplained mismatches of " + name, Goal: 0, Measured: unexpected, Unit: "mismatches"},
			bench.Goal{
				Name: "checks of " + name, Goal: checksGoal, Measured: float64(judged(s.Checks[name])), Unit: "checks",
				AtLeast: true,
			},
			bench.Goal{
				Name: "programs in which " + name + " judged", Goal: float64(s.Programs),
				Measured: float64(len(s.Covered[name])), Unit: "of all workloads on all JDKs", AtLeast: true,
			})
	}
	return goals
}
