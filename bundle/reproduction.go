package bundle

import (
	"fmt"
	"strings"
	"time"

	misstepv1 "misstep/proto/misstep/v1"
)

// needs tells what the reproducer consists of and how it came about; empty for a finding that is bundled as it was found.
func needs(r *misstepv1.Reproducer) string {
	if len(r.GetSteps()) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Left out one by one, each of these makes the bug rarer or go away:\n\n")
	list := func(elements []*misstepv1.RecipeElement) {
		if len(elements) == 0 {
			b.WriteString("- nothing: the workload and the check are all that is left\n")
		}
		for _, e := range elements {
			fmt.Fprintf(&b, "- %s `%s`\n", markdown(e.GetKind()), code(e.GetName()))
		}
	}
	list(r.GetKept())
	if len(r.GetRemoved()) > 0 {
		b.WriteString("\nThe finding's run had these, too, and the bug does not need them:\n\n")
		list(r.GetRemoved())
	}
	if r.GetSeedMatters() {
		b.WriteString("\nThe seed is part of what it needs.\n")
	}
	return b.String()
}

// affected tells which builds have the bug; empty when there was one build only.
func affected(r *misstepv1.Reproducer) string {
	bisection := r.GetBisection()
	if len(bisection.GetBuilds()) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| build | hits of tries | probability of the bug |\n|---|---|---|\n")
	for _, row := range bisection.GetBuilds() {
		name := row.GetJdk().GetVersion()
		if name == "" {
			name = row.GetJdk().GetName()
		}
		chance := fmt.Sprintf("%.1f %%", 100*row.GetAffected())
		if row.GetSkipped() != "" {
			chance = "not tried: " + markdown(row.GetSkipped())
		}
		fmt.Fprintf(&b, "| %s | %d of %d | %s |\n", markdown(name), row.GetHits(), row.GetTries(), chance)
	}
	or := func(name string) string {
		if name == "" {
			return "none tried"
		}
		return markdown(name)
	}
	fmt.Fprintf(&b, "\nFirst affected: %s (last good: %s). Last affected: %s (first fixed: %s). Confidence %.0f %%. ", or(bisection.GetFirstAffected()),
		or(bisection.GetLastGood()), or(bisection.GetLastAffected()), or(bisection.GetFirstFixed()), 100*bisection.GetConfidence())
	fmt.Fprintf(&b, "Still in the newest build that was tried: %.0f %%.\n", 100*bisection.GetNewestAffected())
	return b.String()
}

// clean tells how often the bundle alone showed the bug, and how long a hit takes.
func clean(r *misstepv1.Reproducer) string {
	var b strings.Builder
	if hits := r.GetReliability().GetHits(); hits > 0 && r.GetMeanTry() != nil {
		wait := time.Duration(float64(r.GetMeanTry().AsDuration()) * float64(r.GetReliability().GetTries()) / float64(hits))
		fmt.Fprintf(&b, " That took %v a hit on the machine that measured it.", wait.Round(100*time.Millisecond))
	}
	if c := r.GetClean(); c.GetTries() > 0 {
		fmt.Fprintf(&b, " From this bundle alone, in a new folder: %d of %d.", c.GetHits(), c.GetTries())
	}
	return b.String()
}
