package jfrcheck

import (
	"fmt"
	"slices"
	"strings"

	"misstep/recipe"
)

// Verdicts of a report.
const (
	// VerdictRight: no fault touches a sample, as far as was checked.
	VerdictRight = "right"
	// VerdictTouched: faults touch samples.
	VerdictTouched = "touched"
	// VerdictUnjudged: no fault touches a sample, but samples are missing or could not be judged.
	VerdictUnjudged = "unjudged"
	// VerdictUnproved: no check compared anything.
	VerdictUnproved = "unproved"
)

// weigh sums up what the faults touch.
func (r *Report) weigh() {
	for _, s := range r.Samplers {
		r.Samples += s.Samples
	}
	r.Touched = min(r.Touched, r.Samples)
	for i, f := range r.Faults {
		if i == 0 {
			r.Class = f.Touches
		}
		r.Class = worst(r.Class, f.Touches)
	}
	switch {
	case r.Touched > 0 || r.Class == TouchesSamples:
		r.Verdict = VerdictTouched
	case r.lost():
		r.Verdict = VerdictUnjudged
	case !r.proved():
		r.Verdict = VerdictUnproved
	default:
		r.Verdict = VerdictRight
	}
}

// Fails reports whether a fault touches what the class says, or something worse.
func (r *Report) Fails(class string) bool {
	return r.Class != "" && slices.Index(Touches, r.Class) <= slices.Index(Touches, class)
}

func (r *Report) lost() bool {
	return slices.ContainsFunc(r.Recordings, func(of Recording) bool { return of.Damage != nil && of.Damage.Lost })
}

// proved reports whether any check compared anything.
func (r *Report) proved() bool {
	return slices.ContainsFunc(r.Checks, func(c Check) bool { return c.Right+c.Wrong > 0 })
}

// ReadShare is the share of a recording that was read.
func (*Report) ReadShare(of Recording) string {
	return percentOf(of.ReadBytes, of.Bytes+of.MissingBytes)
}

// Answer says in a few words whether the profile is right, how much of it is unusable, and what was not checked.
func (r *Report) Answer() string {
	parts := []string{r.profile()}
	for _, of := range r.Recordings {
		if of.Damage != nil && of.Damage.Lost {
			parts = append(parts, of.damageText())
		}
	}
	if len(r.Doubts) > 0 && r.Verdict != VerdictTouched {
		parts = append(parts, "something is doubtful")
	}
	var unusable, skipped, besides []string
	for _, s := range r.Samplers {
		unusable = append(unusable, fmt.Sprintf("%.1f %% of %s", 100*s.Unusable(), s.Event))
	}
	if len(unusable) > 0 {
		parts = append(parts, "samples without a whole stack: "+strings.Join(unusable, ", "))
	}
	for _, class := range Touches[1:] {
		n := 0
		for _, f := range r.Faults {
			if f.Touches == class && f.Kind != recipe.KindChunkLayout { // which is said with the damage
				n++
			}
		}
		if n > 0 {
			besides = append(besides, fmt.Sprintf("%d in %s", n, map[string]string{
				TouchesEvents: "other events", TouchesBookkeeping: "bookkeeping that no event comes to",
			}[class]))
		}
	}
	if len(besides) > 0 {
		parts = append(parts, "faults beside the profile: "+strings.Join(besides, ", "))
	}
	for _, c := range r.Checks {
		if c.Skipped != "" {
			skipped = append(skipped, c.Name)
		}
	}
	if len(skipped) > 0 {
		parts = append(parts, "not checked: "+strings.Join(skipped, ", "))
	}
	return strings.Join(parts, "; ")
}

// profile answers for the profile.
func (r *Report) profile() string {
	switch r.Verdict {
	case VerdictTouched:
		return fmt.Sprintf("the profile is not right: faults touch %s of its samples (%d of %d)",
			percentOf(int64(r.Touched), int64(r.Samples)), r.Touched, r.Samples)
	case VerdictUnjudged:
		return "the profile cannot be judged whole"
	case VerdictUnproved:
		return "nothing was checked: the recordings have nothing to compare"
	}
	if r.Samples == 0 {
		return "there are no samples, so no profile to judge"
	}
	return fmt.Sprintf("the profile is right as far as was checked: no fault touches any of its %d samples", r.Samples)
}
