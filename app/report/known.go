package report

import (
	"slices"
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
	// FixedIn names builds that have the fix, as the catalogue does, or the first versions after those that have the bug.
	FixedIn []string `json:"fixed_in,omitempty"`
	// Reason says what is alike, of one that is only near.
	Reason string `json:"reason,omitempty"`
	// Here reports that it is the bug, or one that it may be: the report's JVM has one of these versions, or an unknown one.
	Here bool `json:"here"`
}

// tracker is where the entries of the JDK's bugs are.
const tracker = "https://bugs.openjdk.org/browse/"

// knownOf describes a bug of a catalogue.
func knownOf(b known.Bug) Known {
	k := Known{ID: b.ID, Title: b.Title, Link: b.Link, Versions: b.Versions, FixedIn: b.Fixes()}
	if k.Link == "" && strings.HasPrefix(b.ID, "JDK-") {
		k.Link = tracker + b.ID
	}
	return k
}

// knownBugs lists the bugs of a catalogue that have the signature, on any version; here are those on the version of the report.
func knownBugs(c known.Catalogue, s *misstepv1.Signature, here []string) []Known {
	var out []Known
	for _, b := range c.Causes(s) {
		k := knownOf(b)
		k.Here = slices.Contains(here, b.ID)
		out = append(out, k)
	}
	return out
}

// nearKnown lists the bugs of a catalogue that are like the signature, none of which has it.
func nearKnown(c known.Catalogue, s *misstepv1.Signature) []Known {
	var out []Known
	for _, n := range c.Near(s) {
		k := knownOf(n.Bug)
		k.Reason = n.Reason
		out = append(out, k)
	}
	return out
}

// namedBugs describes bugs of the JDK by their ids, with what the catalogue knows of them.
func namedBugs(c known.Catalogue, ids []string) []Known {
	var out []Known
	for _, id := range ids {
		k := Known{ID: id, Link: tracker + id}
		if b, ok := c.Bug(id); ok {
			k = knownOf(b)
		}
		out = append(out, k)
	}
	return out
}
