package misstepv1

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// KnownCell is KnownText in a table: the known bugs that a finding is, and whether it is none of them on some JDK that showed it.
func KnownCell(f *Finding) string {
	if f.GetKnownAs() != "" {
		return f.GetKnownAs()
	}
	var bugs []string
	for _, on := range f.GetKnownOn() {
		if bug := on.GetKnownAs(); bug != "" && !slices.Contains(bugs, bug) {
			bugs = append(bugs, bug)
		}
	}
	if len(bugs) == 0 {
		return ""
	}
	return strings.Join(bugs, ", ") + " in part"
}

// JDKNames lists the names of the JDKs that showed a finding, oldest version first.
func JDKNames(f *Finding) []string {
	var names []string
	for _, on := range f.GetKnownOn() {
		if name := on.GetJdk().GetName(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// SumRates returns the hits and trials of all rates of a finding.
func SumRates(f *Finding) (hits, trials uint64) {
	for _, r := range f.GetRates() {
		hits, trials = hits+r.GetHits(), trials+r.GetTrials()
	}
	return hits, trials
}

// VisibilityText says who sees a finding.
func VisibilityText(v *FindingVisibility) string {
	text := ""
	switch v.GetVisibility() {
	case Visibility_VISIBILITY_SHARED:
		return "shared with all projects"
	case Visibility_VISIBILITY_PRIVATE:
		text = "private: seen by triagers and admins of its project"
	case Visibility_VISIBILITY_EMBARGOED:
		text = fmt.Sprintf("embargoed until %s: seen by triagers and admins of its project",
			v.GetUntil().AsTime().UTC().Format("2006-01-02 15:04 UTC"))
	default:
		return "seen by its project"
	}
	if len(v.GetPeople()) > 0 {
		text += ", and by " + strings.Join(v.GetPeople(), ", ")
	}
	return text
}

// VisibilityCell is VisibilityText in a table; empty for a finding that its project sees.
func VisibilityCell(f *Finding) string {
	switch v := f.GetVisibility(); {
	case v.GetVisibility() == Visibility_VISIBILITY_EMBARGOED:
		return "embargoed until " + v.GetUntil().AsTime().UTC().Format(time.DateOnly)
	case v.GetVisibility() == Visibility_VISIBILITY_PRIVATE:
		return "private"
	case f.GetProject() != "":
		return "shared by " + f.GetProject()
	case v != nil:
		return "shared"
	}
	return ""
}

// BisectionOf returns a reproduction's bisection: the reproducer's, or the one under way; nil without any.
func BisectionOf(s *ReproductionStatus) *Bisection {
	return cmp.Or(s.GetReproducer().GetBisection(), s.GetBisection())
}
