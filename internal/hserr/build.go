package hserr

import (
	"regexp"
	"strings"
)

var platformRE = regexp.MustCompile(`\b(?:linux|windows|bsd|solaris|aix)-[a-z0-9_]+`)

// build returns a VM's name, version and platform as the head of an error file gives them, without the modes in which it ran:
// "OpenJDK 64-Bit Server VM 15.0.2+7-27 windows-amd64" for "OpenJDK 64-Bit Server VM (15.0.2+7-27, mixed mode, g1 gc,
// windows-amd64)". JDK 8 has no commas. Before the version stands the kind of a debug build.
func build(text string) string {
	name, inner, found := strings.Cut(text, " (")
	if !found {
		return text
	}
	fields := strings.FieldsFunc(inner, func(r rune) bool { return r == ' ' || r == ',' || r == ')' })
	if len(fields) == 0 {
		return name
	}
	version := fields[:1]
	if strings.HasSuffix(fields[0], "debug") && len(fields) > 1 {
		version = fields[:2]
	}
	return strings.TrimSpace(strings.Join(append([]string{name}, version...), " ") + " " + platformRE.FindString(inner))
}
