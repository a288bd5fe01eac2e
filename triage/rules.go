package triage

import (
	"cmp"
	"slices"

	"misstep/signature"
)

// rule decides what a mismatch is. The rules of a family are tried in order, and the first that applies decides.
type rule struct {
	// name is unique within a family.
	name string
	// doc explains how the rule interprets the mismatch, and why.
	doc string
	// kinds of differences, as the agent names them, to which the rule applies; none for all.
	kinds []string
	when  func(*Facts) bool
	then  func(*Facts) verdict
}

// verdict is the result of a rule.
type verdict struct {
	// kind is the agent's unless a part of the difference is more specific.
	kind  string
	place signature.Place
	// words describe the place in titles.
	words string
}

// rules of each family, in the order in which they are tried. The last rule of each family applies to everything.
var rules = map[Family][]rule{
	Entry: slices.Concat(deoptimised, cuts, lostFrames, departures, madeUpAtEntry, departureMethods, indices, lastResort),
	Bracket: slices.Concat(deoptimised, cuts, cutByTop, lostFrames, leftAtTop, madeUpInSignal, departures, departureMethods,
		indicesInSignal, indices, lastResort),
	Sample:    slices.Concat(deoptimised, sampleCuts, sampleRules),
	Edge:      edgeRules,
	Recording: recordingRules,
}

// decide tries the rules of the facts' family.
func decide(f *Facts) (rule, verdict) {
	for _, r := range rules[f.Family] {
		if (r.kinds == nil || slices.Contains(r.kinds, f.Kind)) && r.when(f) {
			return r, r.then(f)
		}
	}
	panic("the last triage rule of the family " + string(f.Family) + " does not apply to everything")
}

func always(*Facts) bool { return true }

// fixedPlace returns a verdict at a place without parameters. An empty kind stands for the agent's, empty words for the place's
// text.
func fixedPlace(kind string, place signature.PlaceKind, words string) func(*Facts) verdict {
	return func(f *Facts) verdict { return f.verdict(kind, signature.Place{Kind: place}, words) }
}

// verdict fills in what was left empty.
func (f *Facts) verdict(kind string, place signature.Place, words string) verdict {
	return verdict{cmp.Or(kind, f.Kind), place, cmp.Or(words, place.String())}
}
