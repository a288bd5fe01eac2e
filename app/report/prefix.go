package report

import (
	"bytes"
	"regexp"
	"unicode/utf8"
)

// prefix is what a log puts before each line of a report that a JVM printed: a time, the name of a container, an indentation.
type prefix struct {
	re *regexp.Regexp
	// bare is the prefix as a log trims it before an empty line.
	bare *regexp.Regexp
}

var digits = regexp.MustCompile(`\d+`)

// newPrefix returns the prefix of which an example was seen, nil for none. Numbers differ from line to line, all else is the same.
func newPrefix(example []byte) *prefix {
	if len(example) == 0 || len(example) > maxPrefix || !utf8.Valid(example) {
		return nil
	}
	pattern := func(text []byte) string {
		return `^` + digits.ReplaceAllString(regexp.QuoteMeta(string(text)), `\d+`)
	}
	return &prefix{
		regexp.MustCompile(pattern(example)),
		regexp.MustCompile(pattern(bytes.TrimRight(example, " \t")) + `\s*$`),
	}
}

// maxPrefix bounds a prefix in bytes.
const maxPrefix = 256

// cut returns a line without the prefix. A line that lacks it is unchanged: a logger writes it before the first line of a message
// only.
func (p *prefix) cut(line []byte) []byte {
	if p == nil {
		return line
	}
	if at := p.re.FindIndex(line); at != nil {
		return line[at[1]:]
	}
	if p.bare.Match(line) {
		return nil
	}
	return line
}
