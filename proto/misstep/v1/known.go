package misstepv1

import (
	"slices"
	"strings"
)

// KnownText says for people which known bug a finding is: "JDK-8303444"; where its JDKs differ, "JDK-8302320 on jdk8, jdk11; not on jdk25". It is
// empty when the finding is new on all of them.
func KnownText(f *Finding) string {
	var bugs, fresh []string
	jdks := map[string][]string{}
	for _, on := range f.GetKnownOn() {
		bug, name := on.GetKnownAs(), on.GetJdk().GetName()
		if bug == "" {
			fresh = append(fresh, name)
			continue
		}
		if !slices.Contains(bugs, bug) {
			bugs = append(bugs, bug)
		}
		jdks[bug] = append(jdks[bug], name)
	}
	if len(bugs) == 0 || len(bugs) == 1 && len(fresh) == 0 { // a bundle of an older version has no more than this
		return f.GetKnownAs()
	}
	var parts []string
	for _, bug := range bugs {
		parts = append(parts, bug+" on "+names(jdks[bug]))
	}
	if len(fresh) > 0 {
		parts = append(parts, "not on "+names(fresh))
	}
	return strings.Join(parts, "; ")
}

// names joins names of JDKs, each once: several builds may have had the same one.
func names(all []string) string {
	var once []string
	for _, name := range all {
		if !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	return strings.Join(once, ", ")
}
