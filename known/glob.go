package known

import (
	"regexp"
	"slices"
	"strings"
)

// stub in a pattern stands for the name of code that is no method: it has no dot, as each method's has.
const stub = "{stub}"

// groups are the names of what walks stacks in one way, in a check's name and in front of a place.
var groups = strings.NewReplacer(
	// The checks that judge walks from a signal handler by what ran there.
	"{walks}", "{asgct-*|edges|profiler-shadow|event-edges}",
	// AsyncGetCallTrace, asked by the agent or by async-profiler.
	"{asgct}", "{|by no: |by fp: |by dwarf: }",
	// async-profiler's own walkers.
	"{vm}", "{by vm: |by vmx: }",
	"{asgct|vm}", "{|by no: |by fp: |by dwarf: |by vm: |by vmx: }",
)

// choiceRE finds {a|b}, which stands for one of some texts. Other braces are literal, as in the names of C++'s lambdas.
var choiceRE = regexp.MustCompile(`\{[^{}|]*(?:\|[^{}|]*)+\}`)

// glob compiles a pattern of a signature's part.
func glob(pattern string) *regexp.Regexp {
	pattern = groups.Replace(pattern)
	var b strings.Builder
	b.WriteByte('^')
	at := 0
	for _, choice := range choiceRE.FindAllStringIndex(pattern, -1) {
		b.WriteString(plain(pattern[at:choice[0]]))
		b.WriteString("(?:")
		for i, text := range alternatives(pattern[choice[0]:choice[1]]) {
			if i > 0 {
				b.WriteByte('|')
			}
			b.WriteString(plain(text))
		}
		b.WriteByte(')')
		at = choice[1]
	}
	b.WriteString(plain(pattern[at:]))
	b.WriteByte('$')
	return regexp.MustCompile(b.String())
}

// plain is the expression for a pattern without choices.
func plain(pattern string) string {
	quoted := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, `.*`)
	return strings.ReplaceAll(quoted, regexp.QuoteMeta(stub), notUpcall+`[^.]*`)
}

// notUpcall matches the beginning of a stub's name, which is neither that of "below upcall M" nor "(none)".
const notUpcall = `(?:[^.u(]|u(?:[^.p]|p[^.c]))`

func alternatives(choice string) []string { return strings.Split(strings.Trim(choice, "{}"), "|") }

// narrowest returns a pattern with each choice replaced by its shortest text: what it demands at least.
func narrowest(pattern string) string {
	pattern = groups.Replace(pattern)
	return choiceRE.ReplaceAllStringFunc(pattern, func(choice string) string {
		return slices.MinFunc(alternatives(choice), func(a, b string) int {
			return len(labels.Replace(a)) - len(labels.Replace(b))
		})
	})
}
