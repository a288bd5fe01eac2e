// Package known labels findings that are known bugs, by a catalogue of bug ids, each with the signatures that it causes and the JDK
// versions that have it.
package known

import (
	_ "embed" // for the catalogue
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

//go:embed known.yaml
var builtin []byte

// Bug is one entry of a catalogue.
type Bug struct {
	// ID in the tracker, e.g. "JDK-8303444".
	ID          string
	Title       string
	Description string
	// Versions that have the bug, as written.
	Versions []string
	// Link to the entry in the tracker, and a Note of whoever made the entry; both may be empty.
	Link, Note string
	// FixedIn names the builds that have the fix, as written (see Fix).
	FixedIn []string
	// Matches are the patterns of its signatures, as written.
	Matches []Match

	ranges  []versionRange
	matches []match
	fixes   []fix
}

// Catalogue is an ordered list of bugs; its zero value is empty. It is immutable.
type Catalogue struct{ bugs []Bug }

// Default returns the built-in catalogue.
var Default = sync.OnceValue(func() Catalogue {
	c, err := Parse(builtin)
	if err != nil {
		panic(fmt.Sprintf("the built-in catalogue of known bugs: %v", err)) // a test parses it
	}
	return c
})

// Parse reads a catalogue in the form that the head of known.yaml describes. The error names the entry.
func Parse(text []byte) (Catalogue, error) {
	entries, err := readEntries(text)
	if err != nil {
		return Catalogue{}, err
	}
	var c Catalogue
	for i, e := range entries {
		if e.ID == "" || e.Title == "" || e.Description == "" || len(e.Versions) == 0 || len(e.Matches) == 0 || c.has(e.ID) {
			return Catalogue{}, fmt.Errorf(
				"known bug %d (%q): expected a unique id, a title, a description, versions and matches",
				i,
				e.ID,
			)
		}
		b, err := e.compile()
		if err != nil {
			return Catalogue{}, err
		}
		c.bugs = append(c.bugs, b)
	}
	return c, nil
}

// Bugs returns the entries in order.
func (c Catalogue) Bugs() []Bug { return append([]Bug(nil), c.bugs...) }

// Label returns the id of the known bug that causes a signature on a JDK, or "". version is what -Xinternalversion prints; a
// version that cannot be parsed is in every range, so that the signature alone decides.
func (c Catalogue) Label(s *misstepv1.Signature, version string) string {
	if ids := c.Labels(s, &misstepv1.Jdk{Version: version}); len(ids) > 0 {
		return ids[0]
	}
	return ""
}

// Labels returns the ids of all known bugs that cause a signature on a JDK, in the catalogue's order.
func (c Catalogue) Labels(s *misstepv1.Signature, jdk *misstepv1.Jdk) []string {
	s, _ = signature.Upgrade(s)
	v, ok := ParseVersion(jdk.GetVersion())
	var ids []string
	for _, b := range c.bugs {
		if b.causes(s) && (!ok || b.affects(v)) && b.FixedOn(jdk) == "" {
			ids = append(ids, b.ID)
		}
	}
	return ids
}

func (b Bug) causes(s *misstepv1.Signature) bool {
	for _, m := range b.matches {
		if m.matches(s) {
			return true
		}
	}
	return false
}

func (b Bug) affects(v Version) bool {
	for _, r := range b.ranges {
		if r.contains(v) {
			return true
		}
	}
	return false
}

type match struct {
	kind  string
	parts []*regexp.Regexp
}

func (m match) matches(s *misstepv1.Signature) bool {
	if s.GetKind() != m.kind || len(s.GetParts()) < len(m.parts) {
		return false
	}
	for i, p := range m.parts {
		if !p.MatchString(s.GetParts()[i]) {
			return false
		}
	}
	return true
}

// Version of a JDK: feature, interim and update, e.g. {17, 0, 15}; JDK 8u422 is {8, 0, 422}.
type Version [3]int

func (v Version) compare(w Version, parts int) int {
	for i := range parts {
		if v[i] != w[i] {
			if v[i] < w[i] {
				return -1
			}
			return 1
		}
	}
	return 0
}

var (
	legacyRE = regexp.MustCompile(`\b1\.8\.0(?:_(\d+))?`)
	hotspot8 = regexp.MustCompile(`\b25\.(\d+)-b\d+`)
	modernRE = regexp.MustCompile(`\(?\b(\d{1,3})(?:\.(\d{1,3}))?(?:\.(\d{1,4}))?(?:\.\d+)*(?:[-+][\w.+~-]*)?\)`)
	plainRE  = regexp.MustCompile(`^(\d{1,3})(?:\.(\d{1,3}))?(?:\.(\d{1,4}))?(?:[.+_-].*)?$`)
)

// ParseVersion reads the version out of what -Xinternalversion prints, "OpenJDK 64-Bit Server VM (17.0.15+6-Debian-1) for
// linux-amd64 JRE (17.0.15+6…)" or, on 8, "… VM (25.422-b05) for linux-amd64 JRE (1.8.0_422-b05)", or out of a bare version. That
// of HotSpot alone, which the property java.vm.version is on 8, is "25.422-b05".
func ParseVersion(text string) (Version, bool) {
	if m := legacyRE.FindStringSubmatch(text); m != nil {
		return Version{8, 0, atoi(m[1])}, true
	}
	// The JRE's version is that of the release; the first parentheses have HotSpot's own version, which differs on 8.
	if i := strings.LastIndex(text, "JRE ("); i >= 0 {
		text = text[i:]
	} else if m := hotspot8.FindStringSubmatch(text); m != nil {
		return Version{8, 0, atoi(m[1])}, true
	}
	for _, re := range []*regexp.Regexp{modernRE, plainRE} {
		if m := re.FindStringSubmatch(strings.TrimSpace(text)); m != nil {
			return Version{atoi(m[1]), atoi(m[2]), atoi(m[3])}, true
		}
	}
	return Version{}, false
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s) // the patterns match digits only; no digits are 0
	return n
}

// versionRange has inclusive ends; an end with fewer parts is compared by those parts only: "17" contains every 17.
type versionRange struct {
	from, to           Version
	fromParts, toParts int
}

func parseRange(s string) (versionRange, error) {
	from, to, ok := strings.Cut(s, "..")
	if !ok {
		return versionRange{}, fmt.Errorf("versions: expected from..to, got %q", s)
	}
	var r versionRange
	for _, end := range []struct {
		text  string
		v     *Version
		parts *int
	}{{from, &r.from, &r.fromParts}, {to, &r.to, &r.toParts}} {
		if end.text == "" {
			continue
		}
		fields := strings.Split(end.text, ".")
		if len(fields) > len(end.v) {
			return versionRange{}, fmt.Errorf("versions: expected at most three numbers, got %q", end.text)
		}
		for i, f := range fields {
			n, err := strconv.Atoi(f)
			if err != nil || n < 0 {
				return versionRange{}, fmt.Errorf("versions: expected numbers and dots, got %q", end.text)
			}
			end.v[i] = n
		}
		*end.parts = len(fields)
	}
	return r, nil
}

func (r versionRange) contains(v Version) bool {
	return v.compare(r.from, r.fromParts) >= 0 && v.compare(r.to, r.toParts) <= 0
}
