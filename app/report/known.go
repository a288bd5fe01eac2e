package report

import (
	"strings"

	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
)

// Known is a bug of the catalogue that has a report's signature.
type Known struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// Link to the tracker's entry; empty if it has none.
	Link string `json:"link,omitempty"`
	// Versions that have the bug, "from..to" with both ends included; others, such as later ones, have the fix.
	Versions []string `json:"versions"`
	// FixedIn names builds that have the fix, as the catalogue does; empty where it only knows versions.
	FixedIn []string `json:"fixed_in,omitempty"`
	// Here reports that the JVM of the report has one of these versions, or an unknown one.
	Here bool `json:"here"`
}

// tracker is where the entries of the JDK's bugs are.
const tracker = "https://bugs.openjdk.org/browse/"

// knownBugs lists the bugs of a catalogue that have the signature, on any version; label is the one that the report is known as.
func knownBugs(c known.Catalogue, s *misstepv1.Signature, label string) []Known {
	var out []Known
	for _, b := range c.Causes(s) {
		k := Known{ID: b.ID, Title: b.Title, Link: b.Link, Versions: b.Versions, FixedIn: b.FixedIn, Here: b.ID == label}
		if k.Link == "" && strings.HasPrefix(b.ID, "JDK-") {
			k.Link = tracker + b.ID
		}
		out = append(out, k)
	}
	return out
}
