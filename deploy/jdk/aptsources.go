package jdk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// aptSource is one stanza of apt's sources (sources.list(5)): values by lowercase field name.
type aptSource map[string]string

func (s aptSource) list(field string) []string { return strings.Fields(s[field]) }

// aptSourceFiles lists the files in which apt looks for its sources.
func aptSourceFiles() ([]string, error) {
	const dir = "/etc/apt"
	files := []string{filepath.Join(dir, "sources.list")}
	for _, suffix := range []string{"list", "sources"} {
		found, err := filepath.Glob(filepath.Join(dir, "sources.list.d", "*."+suffix))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return files, nil
}

// readAptSources reads both forms: deb822 in files named *.sources, one source per line in the others. Missing files are skipped.
func readAptSources(files []string) ([]aptSource, error) {
	var all []aptSource
	for _, name := range files {
		text, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read apt sources: %w", err)
		}
		if filepath.Ext(name) == ".sources" {
			all = append(all, parseDeb822(string(text))...)
		} else {
			all = append(all, parseOneLine(string(text))...)
		}
	}
	return all, nil
}

// parseDeb822 reads stanzas separated by empty lines; lines that begin with white space continue the previous field (an embedded
// key).
func parseDeb822(text string) []aptSource {
	var sources []aptSource
	current, field := aptSource{}, ""
	flush := func() {
		if len(current) > 0 {
			sources = append(sources, current)
		}
		current, field = aptSource{}, ""
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.TrimSpace(line) == "":
			flush()
		case line[0] == ' ' || line[0] == '\t':
			if field != "" {
				current[field] += "\n" + line
			}
		default:
			name, value, _ := strings.Cut(line, ":")
			field = strings.ToLower(strings.TrimSpace(name))
			current[field] = strings.TrimSpace(value)
		}
	}
	flush()
	return sources
}

// optionFields are the options of the one-line form whose deb822 field has another name (sources.list(5)); the others have the same
// name.
var optionFields = map[string]string{"arch": "architectures", "lang": "languages", "target": "targets"}

// parseOneLine reads lines of the form `deb [ option=value … ] uri suite component…`.
func parseOneLine(text string) []aptSource {
	var sources []aptSource
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = strings.TrimSpace(rest)
		s := aptSource{"types": kind}
		if options, ok := strings.CutPrefix(rest, "["); ok {
			options, rest, ok = strings.Cut(options, "]")
			if !ok {
				continue
			}
			for option := range strings.FieldsSeq(options) {
				name, value, _ := strings.Cut(option, "=")
				if field, ok := optionFields[name]; ok {
					name = field
				}
				s[name] = strings.ReplaceAll(value, ",", " ")
			}
		}
		fields := strings.Fields(rest)
		if kind != "deb" || len(fields) < 3 {
			continue
		}
		s["uris"], s["suites"], s["components"] = fields[0], fields[1], strings.Join(fields[2:], " ")
		sources = append(sources, s)
	}
	return sources
}

// debianReleases are the names that suites of the Debian archive have had, as of November 2026. A host's own codename does not
// count: a derivative's archive has no Debian suites.
var debianReleases = []string{
	"buster", "bullseye", "bookworm", "trixie", "forky", "duke", "sid",
	"oldoldstable", "oldstable", "stable", "testing", "unstable", "experimental",
}

const securitySuffix = "-security"

// isDebian reports whether the source is Debian's main archive, or with security its security archive. It decides by the configured
// suites, since a mirror may have any name.
func (s aptSource) isDebian(security bool) bool {
	if !slices.Contains(s.list("types"), "deb") || !slices.Contains(s.list("components"), "main") ||
		strings.EqualFold(s["enabled"], "no") {
		return false
	}
	for _, suite := range s.list("suites") {
		suite = strings.TrimSuffix(suite, "/updates") // in names of the security archive's suites until buster
		base, kind, _ := strings.Cut(suite, "-")
		if slices.Contains(debianReleases, base) && (kind == "security") == security {
			return true
		}
	}
	return false
}

// forSuite returns the text of a .sources file with the host's Debian sources changed to suite, and to its base suite as well when
// suite is a security suite.
func forSuite(sources []aptSource, suite string) (string, error) {
	var stanzas []string
	add := func(suite string, security bool) {
		for _, s := range sources {
			if s.isDebian(security) {
				stanzas = append(stanzas, s.stanza(suite))
			}
		}
	}
	base, security := strings.CutSuffix(suite, securitySuffix)
	add(base, false)
	plain := len(stanzas)
	if security {
		add(suite, true)
	}
	if len(stanzas) == 0 || security && len(stanzas) == plain {
		return "", fmt.Errorf("apt has no source of the Debian archive with suite %q: add one (sources.list(5), any Debian "+
			"suite will do), or import an archive instead", suite)
	}
	slices.Sort(stanzas)
	return strings.Join(slices.Compact(stanzas), "\n"), nil
}

func (s aptSource) stanza(suite string) string {
	var b strings.Builder
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	field("Types", "deb")
	field("URIs", s["uris"])
	field("Suites", suite)
	field("Components", "main")
	field("Targets", "Packages") // neither translations nor file lists
	for _, name := range []string{"Signed-By", "Architectures", "Trusted", "Check-Valid-Until", "Check-Date", "Allow-Insecure"} {
		field(name, s[strings.ToLower(name)])
	}
	return b.String()
}
