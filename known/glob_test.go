package known

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		matches       bool
	}{
		{"a*c", "abc", true},
		{"a*c", "abcd", false},
		{"{a|b}: x", "b: x", true},
		{"{a|b}: x", "c: x", false},
		{"{|by no: }x", "x", true},
		{"{|by no: }x", "by no: x", true},
		{"{|by no: }x", "by vm: x", false},
		{"{a*|b}", "abc", true},
		{"x{a|b}{c|d}", "xbc", true},
		{"x{a|b}{c|d}", "xac.", false},
		{"V f::{lambda(int)#1}::g", "V f::{lambda(int)#1}::g", true}, // C++'s, literal
		{"V f::{lambda(int)#1}::g", "V f::lambda(int)#1::g", false},
		{"below {stub}", "below call_stub", true},
		{"below {stub}", "below a.B.f", false},
		{"below {stub}", "below upcall f", false},
		{"{asgct}x", "by dwarf: x", true},
		{"{asgct}x", "by vmx: x", false},
		{"{vm}x", "by vmx: x", true},
		{"{vm}x", "x", false},
		{"a.b", "axb", false},
	} {
		assert.Equal(t, c.matches, glob(c.pattern).MatchString(c.text), "%s of %s", c.pattern, c.text)
	}
}

// A choice demands no more than its shortest text.
func TestLiteralsOfAChoice(t *testing.T) {
	assert.Equal(t, 3, literals([]string{"abc"}))
	assert.Equal(t, 1, literals([]string{"a*"}))
	assert.Equal(t, 1, literals([]string{"{abc|d}"}))
	assert.Equal(t, 0, literals([]string{"{abc|*}"}))
	assert.Equal(t, 0, literals([]string{"{stub}"}))
	assert.Equal(t, 1, literals([]string{"{asgct}x"}))
}
