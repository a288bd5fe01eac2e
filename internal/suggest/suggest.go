// Package suggest phrases messages about unknown names: the name in quotes, the nearest known name, and all known names.
package suggest

import (
	"fmt"
	"slices"
	"strings"
)

// maxListed is the maximum number of names that Among lists.
const maxListed = 20

// maxMeasured is the maximum length of names that Nearest compares, in bytes.
const maxMeasured = 128

// Quote returns a string in Go's quotes, cut after 80 bytes.
func Quote(s string) string {
	if len(s) > 80 {
		s = s[:80] + "…"
	}
	return fmt.Sprintf("%q", s)
}

// Among returns the end of a message about an unknown name: the nearest known name as a question, if one is near, and at most 20 of
// the known names. For a name with a prefix that ends in a slash, such as renaissance/NAME, only names with that prefix are listed,
// if there are any.
func Among(name string, have []string) string { return new(Once).Among(name, have) }

// Once phrases several messages in which a list of known names stands in the first one only.
type Once struct{ listed []string }

// Among is the function Among, without a list that an earlier message has.
func (o *Once) Among(name string, have []string) string {
	near, list := parts(name, have)
	if slices.Contains(o.listed, list) {
		return near
	}
	o.listed = append(o.listed, list)
	return near + list
}

// parts returns the nearest known name as a question and the list of known names, as Among puts them together.
func parts(name string, have []string) (near, all string) {
	if len(have) == 0 {
		return "", " (there is none)"
	}
	list := slices.Clone(have)
	if prefix, _, ok := strings.Cut(name, "/"); ok {
		outside := func(s string) bool { return !strings.HasPrefix(s, prefix+"/") }
		if inside := slices.DeleteFunc(slices.Clone(have), outside); len(inside) > 0 {
			list = inside
		}
	}
	if n := Nearest(name, list); n != "" {
		near = ", did you mean " + n + "?"
	}
	slices.Sort(list)
	list = slices.Compact(list)
	more := ""
	if len(list) > maxListed {
		list, more = list[:maxListed], ", …"
	}
	return near, " (there are: " + strings.Join(list, ", ") + more + ")"
}

// Nearest returns the candidate with the fewest edits, if these are at most a third of the name's length, otherwise "". If both
// have the same prefix that ends in a slash, only what follows it is compared.
func Nearest(name string, candidates []string) string {
	if len(name) > maxMeasured {
		return ""
	}
	best, distance := "", 0
	for _, c := range candidates {
		a, b := strings.ToLower(name), strings.ToLower(c)
		if prefix, rest, ok := strings.Cut(a, "/"); ok {
			if other, found := strings.CutPrefix(b, prefix+"/"); found {
				a, b = rest, other
			}
		}
		if d := edits(a, b); d <= max(1, len(a)/3) && (best == "" || d < distance) {
			best, distance = c, d
		}
	}
	return best
}

// edits returns the distance of two strings: insertions, deletions, replacements and transpositions of adjacent bytes.
func edits(a, b string) int {
	above, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j+1]+1, next[j]+1, row[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], above[j-1]+1)
			}
		}
		above, row, next = row, next, above
	}
	return row[len(b)]
}
