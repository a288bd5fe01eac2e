package triage

import (
	"slices"

	"misstep/signature"
)

// madeUpAtEntry are for walks at a method's entry that have frames which the reference lacks. Bogus frames come from whatever the
// dead part of the stack held, so their names are meaningless; the reference's frames at that place are not.
var madeUpAtEntry = []rule{
	{
		name:  "index-above-foreign",
		doc:   "Above the bogus frames the right method stands at a wrong bytecode index: there the walk went wrong.",
		kinds: []string{foreign},
		when:  func(f *Facts) bool { return f.OtherIndex != "" },
		then: func(f *Facts) verdict {
			return f.verdict(wrongIndex, signature.Place{Kind: signature.AtMethod, Method: f.OtherIndex}, "")
		},
	},
	{
		name:  "other-stack",
		doc:   "Nothing agrees, not even the bottom: it is the answer of another walk.",
		kinds: []string{extra, foreign},
		when:  func(f *Facts) bool { return f.madeUpFromTop() && !f.SameBottom },
		then:  fixedPlace(foreign, signature.OtherStack, "another stack"),
	},
	{
		name:  "made-up-from-top",
		doc:   "Nothing agrees at the top but the frames that the check itself adds.",
		kinds: []string{extra, foreign},
		when:  (*Facts).madeUpFromTop,
		then:  fixedPlace(foreign, signature.TopFrames, "the top"),
	},
}

func (f *Facts) madeUpFromTop() bool {
	return f.Right <= f.AgentFrames && slices.Contains([]string{extra, foreign}, f.Shape)
}
