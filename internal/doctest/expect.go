package doctest

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	// variable is what differs from run to run: ids, digests and numbers.
	variable = regexp.MustCompile(`…|\b[A-Z][0-9a-f]{12}\b|\b[0-9a-f]{12,64}\b|[0-9]+([.,][0-9]+)*|\s+`)
	ids      = regexp.MustCompile(`^([A-Z]?[0-9a-f]{12,})$`)
)

// Missing returns the lines that a page shows and that were not printed in the order of the page. Lines may be printed between
// those shown. In a line "…" stands for anything; numbers, ids and the width of spaces may differ.
func Missing(shown []string, printed string) (missing []string) {
	lines := strings.Split(printed, "\n")
	at := 0
	for _, want := range shown {
		if trimmed := strings.TrimSpace(want); trimmed == "" || trimmed == "…" {
			continue
		}
		pattern := regexp.MustCompile(`^\s*` + pattern(strings.TrimSpace(want)) + `\s*$`)
		found := slices.IndexFunc(lines[at:], pattern.MatchString)
		if found < 0 {
			missing = append(missing, want)
			continue
		}
		at += found + 1
	}
	return missing
}

// pattern is a regular expression for a line that a page shows.
func pattern(line string) string {
	var b strings.Builder
	last := 0
	for _, at := range variable.FindAllStringIndex(line, -1) {
		b.WriteString(regexp.QuoteMeta(line[last:at[0]]))
		switch text := line[at[0]:at[1]]; {
		case text == "…":
			b.WriteString(`.*`)
		case strings.TrimSpace(text) == "":
			b.WriteString(`\s+`)
		case ids.MatchString(text):
			b.WriteString(`[A-Z]?[0-9a-f]+`)
		default:
			b.WriteString(`[0-9]+([.,][0-9]+)*`)
		}
		last = at[1]
	}
	b.WriteString(regexp.QuoteMeta(line[last:]))
	return b.String()
}

// problem names a command of a page and what is wrong with it.
func problem(page string, c Command, what string, printed []byte) error {
	return fmt.Errorf("%s:%d: %s\n$ %s\n%s", page, c.Line, what, c.Text, bytes.TrimSpace(printed))
}
