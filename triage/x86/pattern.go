package x86

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// pattern is the beginning of a sequence of instructions, byte by byte; anything stands for any byte.
type pattern []int

const anything = -1

// patterns are alternatives.
type patterns []pattern

// parse reads patterns, one per line: bytes in hex, ?? for any byte, and a comment after #. It panics on anything else, since
// patterns are constants.
func parse(text string) patterns {
	var all patterns
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		var p pattern
		for word := range strings.FieldsSeq(line) {
			b, err := strconv.ParseUint(word, 16, 8)
			switch {
			case word == "??":
				p = append(p, anything)
			case err == nil:
				p = append(p, int(b))
			default:
				panic(fmt.Sprintf("pattern %q: %v", line, err))
			}
		}
		if len(p) > 0 {
			all = append(all, p)
		}
	}
	return all
}

// begin reports whether code begins as the pattern does.
func (p pattern) begin(code []byte) bool {
	if len(code) < len(p) {
		return false
	}
	for i, b := range p {
		if b != anything && byte(b) != code[i] {
			return false
		}
	}
	return true
}

// begin reports whether code begins as one of the patterns does.
func (ps patterns) begin(code []byte) bool {
	return slices.ContainsFunc(ps, func(p pattern) bool { return p.begin(code) })
}
