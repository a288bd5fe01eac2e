package recipe

import (
	"fmt"
	"strings"
)

// Violation is one thing that is wrong with a recipe or a campaign.
type Violation struct {
	// Field in the form workloads[2].name; empty if the whole is meant.
	Field string
	// Message says what was expected.
	Message string
}

func (v Violation) String() string {
	if v.Field == "" {
		return v.Message
	}
	return v.Field + ": " + v.Message
}

// Bounds of lists and strings. They keep a request and a recipe small, and are far above what people need.
const (
	MaxList   = 256
	MaxString = 4096
)

// Violations collects what is wrong.
type Violations []Violation

// maxViolations is how many are told at once: a message of 150 kB can hold 70,000.
const maxViolations = 100

// Addf adds a violation of a field. Of those after the first hundred it only says that there are more.
func (v *Violations) Addf(field, format string, args ...any) {
	switch n := len(*v); {
	case n < maxViolations:
		*v = append(*v, Violation{field, fmt.Sprintf(format, args...)})
	case n == maxViolations:
		*v = append(*v, Violation{"", "there are more than these"})
	}
}

// Count checks the length of a list against MaxList and reports whether it is within it.
func (v *Violations) Count(field string, n int) bool { return v.AtMost(field, n, MaxList) }

// AtMost checks the length of a list and reports whether it is within the bound.
func (v *Violations) AtMost(field string, n, most int) bool {
	if n > most {
		v.Addf(field, "expected at most %d entries, got %d", most, n)
		return false
	}
	return true
}

// Texts checks a list of strings: at most MaxList of them, one line each.
func (v *Violations) Texts(field string, texts []string) {
	if v.Count(field, len(texts)) {
		v.Lines(field, texts)
	}
}

// Lines checks that strings are bounded and free of control characters that would break a command line or a log.
func (v *Violations) Lines(field string, texts []string) {
	for i, s := range texts {
		if len(s) > MaxString || strings.ContainsAny(s, "\x00\n\r") {
			v.Addf(fmt.Sprintf("%s[%d]", field, i), "expected one line of at most %d bytes", MaxString)
		}
	}
}
