// Package suggest words messages about unknown names: the name in quotes, the nearest of those that there are, and all of them.
package suggest

import (
	"fmt"
	"slices"
	"strings"
)

// maxListed is the number of names that Among lists.
const maxListed = 20

// maxMeasured is the length of names in bytes beyond which Nearest compares nothing.
const maxMeasured = 128

// Quote gives a string in Go's quotes, cut after 80 bytes.
func Quote(s string) string {
	if len(s) > 80 {
		s = s[:80] + "…"
	}
	return fmt.Sprintf("%q", s)
}

// Among ends a message about an unknown name: the nearest name as a question where one is near, and the names that there are, at
// most 20. Of names with a prefix that ends in a slash, such as renaissance/NAME, those with the same prefix are listed where there
// are any.
func Among(name string, have []string) string {
	if len(have) == 0 {
		return " (there is none)"
	}
	list := slices.Clone(have)
	if prefix, _, ok := strings.Cut(name, "/"); ok {
		if alike := slices.DeleteFunc(slices.Clone(have), func(s string) bool {
			return !strings.HasPrefix(s,
				prefix+"/")
		}); len(alike) > 0 {
			list = alike
		}
	}
	s := ""
	if n := Nearest(name, list); n != "" {
		s = ", did you mean " + n + "?"
	}
	slices.Sort(list)
	list = slices.Compact(list)
	more := ""
	if len(list) > maxListed {
		list, more = list[:maxListed], ", …"
	}
	return s + " (there are: " + strings.Join(list, ", ") + more + ")"
}

// Nearest returns the candidate within a third of the name's length in edits, or "". What follows a slash that both have is
// compared by itself.
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

// edits is the number of insertions, deletions, replacements and swaps of neighbours between two texts, in bytes.
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
