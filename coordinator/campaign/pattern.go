package campaign

import (
	"path"
	"slices"
	"strings"
)

// IsPattern reports whether a name in the JDKs of a campaign is a pattern of names: it has *, which stands for any text, ?, for one
// character, or [, which begins a class of them (path.Match).
func IsPattern(name string) bool { return strings.ContainsAny(name, "*?[") }

// Matching returns the names that a pattern matches, sorted; none for a pattern that is malformed. Builds that were replaced, whose
// names have @ and digits of their digests, match only a pattern with @.
func Matching(pattern string, names []string) (matching []string) {
	for _, name := range names {
		ok, err := path.Match(pattern, name)
		if ok && err == nil && (strings.Contains(pattern, "@") || !strings.Contains(name, "@")) {
			matching = append(matching, name)
		}
	}
	slices.Sort(matching)
	return slices.Compact(matching)
}

// Expand returns names with each pattern replaced by the names that it matches, each once.
func Expand(names, have []string) (expanded []string) {
	for _, name := range names {
		of := []string{name}
		if IsPattern(name) {
			of = Matching(name, have)
		}
		for _, one := range of {
			if !slices.Contains(expanded, one) {
				expanded = append(expanded, one)
			}
		}
	}
	return expanded
}
