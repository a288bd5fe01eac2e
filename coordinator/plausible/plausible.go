// Package plausible decides whether an outcome can be what a run of a recipe gave.
//
// Whoever holds a lease can still invent an outcome; that is for repetition elsewhere to find out. This package refuses what no run
// of the recipe can give, so that a runner can only lie about the trial that it was given, and only within the trial's own terms.
package plausible

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/triage"
)

// MaxBytes bounds an outcome: runners shorten theirs to a quarter of it.
const MaxBytes = 4 * triage.MaxOutcome

// A trial may take its recipe's wall time, in a virtual machine up to 60 times as long, and slack for starting, ending and reading
// a recording. What it computes on all its processors may take processors times as long.
const (
	stretch    = 60
	slack      = time.Hour
	processors = 1024
)

// Outcome returns why an outcome is none of the recipe's; nil when it may be one. It looks at everything but recipe_digest.
func Outcome(o *misstepv1.Outcome, r *misstepv1.Recipe) error {
	if size := proto.Size(o); size > MaxBytes {
		return fmt.Errorf("expected at most %d bytes, got %d", MaxBytes, size)
	}
	if o.GetAged() {
		return errors.New("aged is for a coordinator to set")
	}
	for _, rule := range []func(*misstepv1.Outcome, *misstepv1.Recipe) error{
		checks, mismatches, kind, perturbation, times, evidence,
	} {
		if err := rule(o, r); err != nil {
			return err
		}
	}
	return nil
}

// Digest returns an error unless the outcome names the recipe. It costs more than the rest of a report.
func Digest(o *misstepv1.Outcome, r *misstepv1.Recipe) error {
	want, err := misstepv1.RecipeDigest(r)
	if err == nil && o.GetRecipeDigest() != want {
		err = fmt.Errorf("it is of another recipe: expected recipe_digest %s", want)
	}
	return err
}

func checks(o *misstepv1.Outcome, r *misstepv1.Recipe) error {
	asked := make(map[string]bool, len(r.GetChecks()))
	for _, c := range r.GetChecks() {
		asked[c.GetName()] = true
	}
	for _, c := range o.GetChecks() {
		if !asked[c.GetCheck()] {
			return fmt.Errorf("check %.80q: the recipe asks for none of that name, or it is counted twice", c.GetCheck())
		}
		asked[c.GetCheck()] = false
		if !addsUp(c) {
			return fmt.Errorf("check %s: its verdicts do not add up to its total, %d", c.GetCheck(), c.GetTotal())
		}
	}
	return nil
}

// maxReasons bounds the rules, reasons and error codes of one check; the tables have some dozens.
const maxReasons = 256

// addsUp reports whether the verdicts of a check are as many as its observations.
func addsUp(c *misstepv1.CheckCount) bool {
	if len(c.GetTolerated())+len(c.GetUnwalkable())+len(c.GetVoid()) > maxReasons {
		return false
	}
	sum, over := c.GetMatch(), uint64(0)
	add := func(n uint64) {
		var carry uint64
		sum, carry = bits.Add64(sum, n, 0)
		over |= carry
	}
	add(c.GetMismatch())
	for _, n := range c.GetTolerated() {
		add(n)
	}
	for _, n := range c.GetUnwalkable() {
		add(n)
	}
	for _, n := range c.GetVoid() {
		add(n)
	}
	return over == 0 && sum == c.GetTotal()
}

// mismatches are of the recipe's checks. They may be more than were counted: a JVM that dies, or is killed, between the two has
// written a mismatch and not counted it.
func mismatches(o *misstepv1.Outcome, r *misstepv1.Recipe) error {
	for i, m := range o.GetMismatches() {
		if !slices.ContainsFunc(r.GetChecks(), func(c *misstepv1.Check) bool { return c.GetName() == m.GetCheck() }) {
			return fmt.Errorf("mismatch %d: the recipe asks for no check %.80q", i, m.GetCheck())
		}
	}
	return nil
}

// kind compares the kind with what the outcome says beside it.
func kind(o *misstepv1.Outcome, r *misstepv1.Recipe) error {
	k := o.GetKind()
	var why string
	switch {
	case o.GetCrash() != nil && k != misstepv1.OutcomeKind_OUTCOME_KIND_CRASH:
		why = "it describes a crash"
	case o.GetHang() != nil && k != misstepv1.OutcomeKind_OUTCOME_KIND_CRASH && k != misstepv1.OutcomeKind_OUTCOME_KIND_HANG:
		why = "it describes a hang"
	case o.GetApplicationFailure() == nil && k == misstepv1.OutcomeKind_OUTCOME_KIND_APPLICATION_FAILURE:
		why = "it describes no failure of the application"
	case o.GetApplicationFailure().GetFinding() && !r.GetFailureFindings():
		why = "it describes a failure as a finding, which its recipe does not ask for"
	case k == misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN && len(o.GetMismatches()) > 0:
		why = "it has mismatches"
	case k == misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN && o.GetApplicationFailure() != nil:
		why = "it describes a failure of the application"
	case k == misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN && len(o.GetChecks()) != len(r.GetChecks()):
		why = "it does not count every check of the recipe"
	}
	if k == misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN && why == "" {
		for _, c := range o.GetChecks() {
			if c.GetTotal() == 0 {
				why = "check " + c.GetCheck() + " observed nothing"
			}
		}
	}
	if why != "" {
		return fmt.Errorf("its kind is %s, but %s", misstepv1.OutcomeName(k), why)
	}
	return nil
}

func perturbation(o *misstepv1.Outcome, r *misstepv1.Recipe) error {
	p := o.GetPerturbation()
	if p == nil {
		return nil
	}
	asked := r.GetPerturbation().GetStrategy()
	if !misstepv1.Disturbs(asked) {
		asked = misstepv1.StrategyNone
	}
	if p.GetStrategy() != asked {
		return fmt.Errorf("perturbation %.80q: the recipe asks for %s", p.GetStrategy(), asked)
	}
	return nil
}

// Longest returns how long a runner may be busy with a trial of a recipe, fetching and starting included.
func Longest(r *misstepv1.Recipe) time.Duration { return stretch*recipe.Wall(r) + slack }

func times(o *misstepv1.Outcome, r *misstepv1.Recipe) error {
	most := Longest(r)
	for _, d := range []struct {
		name  string
		value *durationpb.Duration
		most  time.Duration
	}{
		{"wall", o.GetWall(), most},
		{"judging", o.GetJudging(), most},
		{"cpu", o.GetCpu(), processors * most},
	} {
		if d.value == nil {
			continue
		}
		if !d.value.IsValid() || d.value.AsDuration() < 0 || d.value.AsDuration() > d.most {
			return fmt.Errorf("%s: expected at most %v, got %v", d.name, d.most, d.value.AsDuration())
		}
	}
	if s := o.GetStarted(); s != nil && !s.IsValid() {
		return errors.New("started: no valid time")
	}
	return nil
}

func evidence(o *misstepv1.Outcome, r *misstepv1.Recipe) error {
	names := make(map[string]bool, len(o.GetEvidence()))
	most := Allowance(r).Bytes
	var sum uint64
	for i, e := range o.GetEvidence() {
		if names[e.GetName()] {
			return fmt.Errorf("evidence %d: a second %.80q", i, e.GetName())
		}
		names[e.GetName()] = true
		if e.GetSize() > most-sum {
			return fmt.Errorf("evidence: more than the %d bytes that a trial of this recipe may leave", most)
		}
		sum += e.GetSize()
	}
	return nil
}

// Evidence is how much evidence a trial may leave.
type Evidence struct {
	Blobs int
	Bytes uint64
}

// ownEvidence is what a trial may leave beside the files of its folder and its output: stacks, dumps, logs of the perturbation.
const ownEvidence = 128 << 20

// MostEvidence bounds the evidence of one trial, whatever its recipe allows: recordings are cut at 64 MiB, other pieces at 32.
const MostEvidence = 1 << 30

// Allowance returns how much evidence a trial of a recipe may leave, by its limits.
func Allowance(r *misstepv1.Recipe) Evidence {
	l := recipe.EffectiveLimits(r.GetLimits())
	return Evidence{
		Blobs: 256, Bytes: min(uint64(l.GetDiskMib())<<20+2*uint64(l.GetOutputMib())<<20+ownEvidence, MostEvidence),
	}
}
