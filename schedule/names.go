package schedule

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// ThreadNames formats paths of creation for display: "0.3.1" is the second child of the fourth child of the first process.
type ThreadNames map[uint64]Record

// Add adds a record of kind RecordThread; only the first one of a path counts.
func (n ThreadNames) Add(r Record) {
	if _, known := n[r.Path]; !known {
		n[r.Path] = r
	}
}

// Name returns the path as ordinals, or "#" and the path in hexadecimal digits for a thread that was not added.
func (n ThreadNames) Name(path uint64) string {
	var ordinals []string
	for range 64 { // no deeper: in a damaged log, parents may form a cycle
		r, known := n[path]
		if !known {
			if len(ordinals) == 0 {
				return fmt.Sprintf("#%016x", path)
			}
			break
		}
		ordinals = append(ordinals, fmt.Sprint(r.Counter))
		path = r.Delay
	}
	slices.Reverse(ordinals)
	return strings.Join(ordinals, ".")
}

// Printable replaces non-printable characters: any program may choose a thread's name, which must not control a terminal.
func Printable(s string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) || c == '\ufffd' {
			return '?'
		}
		return c
	}, s)
}
