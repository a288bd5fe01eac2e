package doctest

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// word is what a line is made of, for the purpose of comparing it.
var word = regexp.MustCompile(`…|\s+|JDK-[0-9]+|[0-9]+([.,][0-9]+)+|[0-9A-Za-z]+`)

var digits = regexp.MustCompile(`[0-9]+`)

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
	for _, at := range word.FindAllStringIndex(line, -1) {
		b.WriteString(regexp.QuoteMeta(line[last:at[0]]) + patternOf(line[at[0]:at[1]]))
		last = at[1]
	}
	return b.String() + regexp.QuoteMeta(line[last:])
}

// idLength is the least length of a word with digits that is taken for an id or a digest: it may be any other one.
const idLength = 8

func patternOf(word string) string {
	switch {
	case word == "…":
		return `.*`
	case strings.TrimSpace(word) == "":
		return `\s+`
	case strings.HasPrefix(word, "JDK-") || !strings.ContainsAny(word, "0123456789"):
		return regexp.QuoteMeta(word)
	case strings.Trim(word, "0123456789.,") == "":
		return `[0-9]+([.,][0-9]+)*`
	case len(word) >= idLength:
		return `[0-9A-Za-z]+`
	case word[0] <= '9':
		return `[0-9][0-9A-Za-z]*`
	}
	return digits.ReplaceAllString(word, `[0-9]+`)
}

// problem names a command of a page and what is wrong with it.
func problem(page string, c Command, what string, printed []byte) error {
	return fmt.Errorf("%s:%d: %s\n$ %s\n%s", page, c.Line, what, c.Text, bytes.TrimSpace(printed))
}
