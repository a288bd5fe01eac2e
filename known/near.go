package known

import (
	"regexp"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// Near is a bug that a signature is like, and what they have in common.
type Near struct {
	Bug
	Reason string
}

// Near returns the bugs that do not cause a signature but are like it, in the catalogue's order: the same assertion fails in
// another source file, or the part that tells one bug from another is the same and others are not.
func (c Catalogue) Near(s *misstepv1.Signature) []Near {
	s, _ = signature.Upgrade(s)
	var out []Near
	for _, b := range c.bugs {
		if b.causes(s) {
			continue
		}
		for _, m := range b.Matches {
			if reason := m.near(s); reason != "" {
				out = append(out, Near{b, reason})
				break
			}
		}
	}
	return out
}

// sourceFile matches the source file in the error of a crash, by signatures and patterns.
var sourceFile = regexp.MustCompile(`^((?:Internal|Out of Memory) Error )\S+\.[ch]pp `)

func (m Match) near(s *misstepv1.Signature) string {
	if m.Kind != s.GetKind() {
		return ""
	}
	if m.Kind == signature.KindCrash && strings.Contains(m.Parts[0], ") failed") && len(s.GetParts()) > 0 {
		pattern, failed := sourceFile.ReplaceAllString(m.Parts[0], "$1"), sourceFile.ReplaceAllString(s.GetParts()[0], "$1")
		if glob(pattern).MatchString(failed) {
			return "the same assertion failed, in another source file or with another frame"
		}
	}
	of := identifying[m.Kind]
	if len(m.Parts) <= of.index || len(s.GetParts()) <= of.index || literals(m.Parts[of.index:of.index+1]) < minLiterals {
		return ""
	}
	if glob(m.Parts[of.index]).MatchString(s.GetParts()[of.index]) {
		return "the same " + of.name + ", and other parts of the signature differ"
	}
	return ""
}
