package misstepv1

import (
	"slices"
	"strings"
)

// Kinds of FindingState.
const (
	StateQuiet = "quiet"
	StateBack  = "back"
)

// KnownText returns for people which known bug a finding is: "JDK-8303444" or, if its JDKs differ, "JDK-8302320 on jdk8, jdk11; not
// on jdk25". It is empty if the finding is new on all of them.
func KnownText(f *Finding) string {
	var bugs, notKnown []string
	jdks := map[string][]string{}
	for _, on := range f.GetKnownOn() {
		bug, name := on.GetKnownAs(), on.GetJdk().GetName()
		if bug == "" {
			notKnown = append(notKnown, name)
			continue
		}
		if !slices.Contains(bugs, bug) {
			bugs = append(bugs, bug)
		}
		jdks[bug] = append(jdks[bug], name)
	}
	if len(bugs) == 0 || len(bugs) == 1 && len(notKnown) == 0 { // bundles of older versions have only this
		return f.GetKnownAs()
	}
	var parts []string
	for _, bug := range bugs {
		parts = append(parts, bug+" on "+names(jdks[bug]))
	}
	if len(notKnown) > 0 {
		parts = append(parts, "not on "+names(notKnown))
	}
	return strings.Join(parts, "; ")
}

// names joins names of JDKs without repetition: several builds may have had the same name.
func names(all []string) string {
	var once []string
	for _, name := range all {
		if !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	return strings.Join(once, ", ")
}
