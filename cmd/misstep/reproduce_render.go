package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	misstepv1 "misstep/proto/misstep/v1"
)

func reliabilityText(r *misstepv1.Reliability) string {
	return fmt.Sprintf("%d of %d (95 %% interval %.2f–%.2f)", r.GetHits(), r.GetTries(), r.GetLow(), r.GetHigh())
}

// renderReproduction prints one reproduction as text.
func renderReproduction(w io.Writer, s *misstepv1.ReproductionStatus) {
	fmt.Fprintf(w, "%s of finding %s: %s, %d trials\n", s.GetId(), s.GetFindingId(), reproductionState(s.GetState()), s.GetTrials())
	if s.GetDoing() != "" {
		fmt.Fprintln(w, reproductionLine(s))
	}
	if s.GetFailure() != "" {
		fmt.Fprintln(w, s.GetFailure())
	}
	fmt.Fprintln(w)
	t := table(w)
	fmt.Fprintln(t, "step\trecipes\ttries\thits\tresult")
	for _, step := range s.GetSteps() {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%s\n", step.GetName(), step.GetProbes(), step.GetTries(), step.GetHits(), step.GetSummary())
	}
	t.Flush()
	if len(s.GetOthers()) > 0 {
		fmt.Fprintf(w, "\nother findings seen meanwhile: %s\n", strings.Join(s.GetOthers(), ", "))
	}
	r := s.GetReproducer()
	renderElements(w, "needed", r.GetKept())
	renderElements(w, "not needed", r.GetRemoved())
	renderBisection(w, misstepv1.BisectionOf(s))
	if r == nil {
		return
	}
	seed := "with a fresh seed each"
	if r.GetSeedMatters() {
		seed = "with its own seed, which it needs"
	}
	fmt.Fprintf(w, "\nreliability: %s, %s", reliabilityText(r.GetReliability()), seed)
	if hits := r.GetReliability().GetHits(); hits > 0 {
		wait := time.Duration(float64(r.GetMeanTry().AsDuration()) * float64(r.GetReliability().GetTries()) / float64(hits))
		fmt.Fprintf(w, "; a hit takes %v on average", wait.Round(100*time.Millisecond))
	}
	fmt.Fprintln(w)
	if r.GetClean() != nil {
		fmt.Fprintf(w, "from the bundle alone, in a clean folder: %s\n", reliabilityText(r.GetClean()))
	}
}

func renderBisection(w io.Writer, b *misstepv1.Bisection) {
	if b == nil {
		return
	}
	fmt.Fprintln(w)
	t := table(w)
	fmt.Fprintln(t, "build\tversion\thits\ttries\taffected")
	for _, build := range b.GetBuilds() {
		affected := fmt.Sprintf("%.2f", build.GetAffected())
		if build.GetSkipped() != "" {
			affected = "could not be tested: " + build.GetSkipped()
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s\n", build.GetJdk().GetName(), shortVersion(build.GetJdk().GetVersion()),
			build.GetHits(), build.GetTries(), affected)
	}
	t.Flush()
}

func renderElements(w io.Writer, title string, elements []*misstepv1.RecipeElement) {
	if len(elements) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s:\n", title)
	for _, e := range elements {
		fmt.Fprintf(w, "  %s %s\n", e.GetKind(), e.GetName())
	}
}

// shortVersion is the part of -Xinternalversion in its first parentheses.
func shortVersion(version string) string {
	if _, rest, ok := strings.Cut(version, "("); ok {
		if inside, _, ok := strings.Cut(rest, ")"); ok {
			return inside
		}
	}
	return version
}

// reproductionLines prints a line about a reproduction whenever its step changes, else every ten seconds.
func reproductionLines(w io.Writer) func(*misstepv1.ReproductionStatus) {
	var last time.Time
	step := ""
	return func(s *misstepv1.ReproductionStatus) {
		if now := lastStep(s).GetName(); now != step || time.Since(last) >= lineInterval {
			step, last = now, time.Now()
			fmt.Fprintln(w, reproductionLine(s))
		}
	}
}

func lastStep(s *misstepv1.ReproductionStatus) *misstepv1.ReproductionStep {
	if n := len(s.GetSteps()); n > 0 {
		return s.GetSteps()[n-1]
	}
	return nil
}

// reproductionLine is one line with step, trials, the rate with its interval, and the time left.
func reproductionLine(s *misstepv1.ReproductionStatus) string {
	doing := s.GetDoing()
	if doing == "" {
		doing = reproductionState(s.GetState())
	}
	parts := []string{fmt.Sprintf("%s: %s", lastStep(s).GetName(), doing), fmt.Sprintf("trials %d done %d running", s.GetTrials(),
		s.GetRunning())}
	if r := s.GetRate(); r.GetTries() > 0 {
		parts = append(parts, "rate "+reliabilityText(r))
	}
	if s.GetLeft() != nil {
		parts = append(parts, fmt.Sprintf("ETA %v", max(0, s.GetLeft().AsDuration()).Round(time.Second)))
	}
	return strings.Join(parts, " | ")
}

func reproductionState(s misstepv1.ReproductionState) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "REPRODUCTION_STATE_"))
}
