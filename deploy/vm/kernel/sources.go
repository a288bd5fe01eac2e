package kernel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// hostSuites are the suite names in a host's apt sources that identify Debian's main archive, which has all of Suites. The separate
// archive of security updates has none of them.
var hostSuites = []string{
	"bullseye", "bookworm", "trixie", "forky", "duke", "sid", "oldoldstable", "oldstable", "stable", "testing", "unstable",
}

// errNoSource reports that the host has no source of Debian's archive, with the remedy.
var errNoSource = errors.New("no source of Debian's archive in the host's apt configuration; add one of any suite (deb URI " +
	"bookworm main); the kernel is fetched from another suite of the same archive")

// hostSources returns, in deb822 form, the host's sources of Debian's main archive with another suite in place of theirs.
func hostSources(etc string, suite Suite) (string, error) {
	var files []string
	for _, pattern := range []string{"sources.list", "sources.list.d/*.list", "sources.list.d/*.sources"} {
		found, err := filepath.Glob(filepath.Join(etc, pattern))
		if err != nil {
			return "", fmt.Errorf("listing apt's sources: %w", err)
		}
		files = append(files, found...)
	}
	sort.Strings(files)
	var stanzas []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("reading apt's sources: %w", err)
		}
		found := oneLineSources(string(data), suite)
		if strings.HasSuffix(file, ".sources") {
			found = deb822Sources(string(data), suite)
		}
		for _, s := range found {
			if !slices.Contains(stanzas, s) {
				stanzas = append(stanzas, s)
			}
		}
	}
	if len(stanzas) == 0 {
		return "", errNoSource
	}
	return strings.Join(stanzas, "\n"), nil
}

// deb822Sources reads a .sources file (sources.list(5)).
func deb822Sources(text string, suite Suite) []string {
	var out []string
	for paragraph := range strings.SplitSeq(strings.ReplaceAll(text, "\r", ""), "\n\n") {
		fields := map[string]string{}
		last := ""
		for line := range strings.Lines(paragraph) {
			switch {
			case strings.HasPrefix(line, "#"):
			case strings.HasPrefix(line, " "), strings.HasPrefix(line, "\t"):
				if last != "" {
					fields[last] += "\n" + strings.TrimRight(line, "\n")
				}
			default:
				name, value, ok := strings.Cut(line, ":")
				if !ok {
					continue
				}
				last = strings.ToLower(strings.TrimSpace(name))
				fields[last] = strings.TrimSpace(value)
			}
		}
		if fields["enabled"] == "no" || !slices.Contains(strings.Fields(fields["types"]), "deb") {
			continue
		}
		if s, ok := stanza(suite, fields["uris"], fields["suites"], fields["components"], fields["signed-by"]); ok {
			out = append(out, s)
		}
	}
	return out
}

// oneLineSources reads lines of the form `deb [options] URI suite component…`.
func oneLineSources(text string, suite Suite) []string {
	var out []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "deb ")
		if !ok {
			continue
		}
		rest = strings.TrimSpace(rest)
		key := ""
		if strings.HasPrefix(rest, "[") {
			options, after, closed := strings.Cut(rest[1:], "]")
			if !closed {
				continue
			}
			for option := range strings.FieldsSeq(options) {
				if value, isKey := strings.CutPrefix(option, "signed-by="); isKey {
					key = value
				}
			}
			rest = after
		}
		fields := strings.Fields(rest)
		if len(fields) < 3 {
			continue
		}
		if s, ok := stanza(suite, fields[0], fields[1], strings.Join(fields[2:], " "), key); ok {
			out = append(out, s)
		}
	}
	return out
}

func stanza(suite Suite, uris, names, components, key string) (string, bool) {
	debian := slices.ContainsFunc(strings.Fields(names), func(s string) bool { return slices.Contains(hostSuites, s) })
	if !debian || uris == "" || !slices.Contains(strings.Fields(components), "main") {
		return "", false
	}
	s := "Types: deb\nURIs: " + uris + "\nSuites: " + suite.String() + "\nComponents: main\n"
	if key != "" {
		s += "Signed-By: " + key + "\n"
	}
	return s, true
}
