package schedule

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// ThreadNames writes paths of creation for people: "0.3.1" is the second child of the fourth child of the first process.
type ThreadNames map[uint64]Record

// Add takes a record of kind RecordThread; the first one of a path counts.
func (n ThreadNames) Add(r Record) {
	if _, known := n[r.Path]; !known {
		n[r.Path] = r
	}
}

// Name is the path in ordinals, or "#" and the path in hexadecimal digits for a thread that was not added.
func (n ThreadNames) Name(path uint64) string {
	var ordinals []string
	for range 64 { // no deeper: parents that form a circle come from a damaged log
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

// Printable keeps a thread's name, which any program may choose, from writing to a terminal.
func Printable(s string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) || c == '\ufffd' {
			return '?'
		}
		return c
	}, s)
}
