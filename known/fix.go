package known

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
)

// fix is one entry of fixed_in: a version, or the name of a JDK build in the catalogue of JDKs.
//
// A version is "17.0.16", "28" or, with a build, "28+15". It is fixed in JDKs of the same feature release from that version on. A
// fix in a feature release itself ("28", "28+15") was made in the mainline, so all later feature releases have it as well; an
// update ("17.0.16") is a backport, which says nothing about others. A name stands for that build only, since builds cannot be
// ordered by their names.
type fix struct {
	name     string
	version  Version
	build    int
	mainline bool
}

var (
	fixRE = regexp.MustCompile(`^(\d{1,3})(?:\.(\d{1,3}))?(?:\.(\d{1,4}))?(?:\+(\d{1,4}))?$`)
	// buildRE finds the build in what -Xinternalversion prints: "(28-ea+5-Debian)", "(17.0.15+6)", "(1.8.0_432-b06)".
	buildRE = regexp.MustCompile(`(?:\+|_\d+-b)(\d+)`)
)

func parseFix(text string) (fix, error) {
	if strings.TrimSpace(text) == "" || strings.ContainsAny(text, "*\n") {
		return fix{}, fmt.Errorf("fixed_in: expected a version such as 17.0.16 or 28+15, or the name of a JDK build, got %q", text)
	}
	m := fixRE.FindStringSubmatch(text)
	if m == nil {
		return fix{name: text}, nil
	}
	f := fix{version: Version{atoi(m[1]), atoi(m[2]), atoi(m[3])}, build: atoi(m[4])}
	f.mainline = f.version[1] == 0 && f.version[2] == 0
	return f, nil
}

// FixedOn returns the first entry of fixed_in according to which a JDK has the fix, or "".
func (b Bug) FixedOn(jdk *misstepv1.Jdk) string {
	if len(b.fixes) == 0 {
		return ""
	}
	v, ok := ParseVersion(jdk.GetVersion())
	for i, f := range b.fixes {
		switch {
		case f.name != "" && f.name == jdk.GetName(), f.name == "" && ok && f.in(v, buildOf(jdk.GetVersion())):
			return b.FixedIn[i]
		}
	}
	return ""
}

func (f fix) in(v Version, build int) bool {
	if v[0] != f.version[0] {
		return f.mainline && v[0] > f.version[0]
	}
	if c := v.compare(f.version, len(v)); c != 0 {
		return c > 0
	}
	return build >= f.build
}

// buildOf returns the number of a JDK's build, 0 if it has none.
func buildOf(version string) int {
	if i := strings.LastIndex(version, "JRE ("); i >= 0 {
		version = version[i:]
	}
	if m := buildRE.FindStringSubmatch(version); m != nil {
		return atoi(m[1])
	}
	return 0
}

// Fixes returns the builds and versions that have the fix, for people: fixed_in, or what follows from the versions that have the
// bug, "17 after 17.0.15" and "19". A range that ends with all of a feature release, of which only later updates have the bug,
// says nothing of a fix.
func (b Bug) Fixes() []string {
	if len(b.FixedIn) > 0 {
		return b.FixedIn
	}
	var out []string
	for _, r := range b.ranges {
		next := Version{r.to[0] + 1}
		switch {
		case r.toParts == 0 || r.toParts == 1 && r.fromParts > 1 && r.from[0] == r.to[0]:
		case r.toParts == 1 && !b.affects(next):
			out = append(out, strconv.Itoa(next[0]))
		case r.toParts > 1 && r.to[0] == 8:
			out = append(out, fmt.Sprintf("8 after 8u%d", r.to[2]))
		case r.toParts > 1:
			out = append(out, fmt.Sprintf("%d after %d.%d.%d", r.to[0], r.to[0], r.to[1], r.to[2]))
		}
	}
	return out
}
