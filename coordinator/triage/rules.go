package triage

import (
	"cmp"
	"slices"

	"misstep/signature"
)

// rule decides what a mismatch is. The rules of a family are asked in order, and the first that applies decides.
type rule struct {
	// name is unique within a family.
	name string
	// doc says for people what the rule takes the mismatch for, and why.
	doc string
	// kinds of differences, by the agent's word, that the rule is for; none for all.
	kinds []string
	when  func(*Facts) bool
	then  func(*Facts) verdict
}

// verdict is what a rule says.
type verdict struct {
	// kind is the agent's unless a part of the difference tells more.
	kind  string
	place signature.Place
	// words describe the place for people.
	words string
}

// rules of each family, in the order in which they are asked. The last rule of each applies to all.
var rules = map[Family][]rule{
	Entry: slices.Concat(deoptimised, cuts, lostFrames, departures, madeUpAtEntry, departureMethods, indices, lastResort),
	Bracket: slices.Concat(deoptimised, cuts, cutByTop, lostFrames, leftAtTop, madeUpInSignal, departures, departureMethods,
		indicesInSignal, indices, lastResort),
	Sample: slices.Concat(deoptimised, sampleCuts, sampleRules),
	Edge:   edgeRules,
}

// decide asks the rules of the facts' family.
func decide(f *Facts) (rule, verdict) {
	for _, r := range rules[f.Family] {
		if (r.kinds == nil || slices.Contains(r.kinds, f.Kind)) && r.when(f) {
			return r, r.then(f)
		}
	}
	panic("the last triage rule of the family " + string(f.Family) + " does not apply to all")
}

func always(*Facts) bool { return true }

// fixedPlace is a verdict at a place without parameters. An empty kind is the agent's, empty words are the place's own text.
func fixedPlace(kind string, place signature.PlaceKind, words string) func(*Facts) verdict {
	return func(f *Facts) verdict { return f.verdict(kind, signature.Place{Kind: place}, words) }
}

// verdict fills in what was left empty.
func (f *Facts) verdict(kind string, place signature.Place, words string) verdict {
	return verdict{cmp.Or(kind, f.Kind), place, cmp.Or(words, place.String())}
}
