package agent

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/recipe"
)

// proofs names, for each rule, a native test in which it fires and one in which a real fault behind it is still caught.
var proofs = map[string]struct{ fires, fault string }{
	"constructor-prologue": {"CompareTest.ConstructorPrologueIsOffTheShadow", "CompareTest.ConstructorPrologueIsCertain"},
	"push-pop-window":      {"CompareTest.SampleInPushWindow", "CompareTest.PushWindowHidesNothingBelow"},
	"inline-imprecision":   {"CompareTest.InlineImprecisionSwapsTheTop", "CompareTest.InlineImprecisionOnlyWithinThatCode"},
	"top-frame-missing":    {"CompareTest.TopFrameMissing", "CompareTest.TopFrameMissingIsOnePhysicalFrame"},
	"virtual-thread":       {"CompareTest.CarrierBelowAVirtualThread", "CompareTest.CarrierBelowAVirtualThreadHidesNoFault"},
	"virtual-thread-switch": {
		"CompareTest.VirtualThreadSwitchHasTheCarriersFrames", "CompareTest.VirtualThreadSwitchHidesNoFault",
	},
	"depth-limit":    {"CompareTest.DepthLimitComparesWhatIsThere", "CompareTest.DepthLimitHidesNoLostBottom"},
	"null-method-id": {"CompareTest.NullMethodIdIsTolerated", "CompareTest.NullMethodIdHidesNoFaultElsewhere"},
	"retransformed":  {"CompareTest.RetransformedMethodsMayRunWithoutShadow", "CompareTest.RetransformedIdsHideNoFault"},
	"retried":        {"CompareTest.ASecondWalkThatIsEqualIsRetried", "CompareTest.RetriedHidesNoLostFrame"},
	"deopt-upcall": {
		"CompareTest.MinusNineInAnUpcallOfADeoptimisation", "CompareTest.MinusNineWithoutADeoptimisationIsWrong",
	},
	"moved":         {"BracketTest.ALoopMayComeBack", "BracketTest.MovedHidesNoFrameWithoutALoop"},
	"vm-upcall":     {"Fault.None", "Edges.VmUpcallHidesNoFault"},
	"method-handle": {"Edges.MethodHandles", "Edges.MethodHandles"},
	"native-caller": {"Edges.NativeCallerFiresAndHidesNoFaultElsewhere", "Edges.NativeCallerFiresAndHidesNoFaultElsewhere"},
}

// Every rule has both tests, and both mention what they are for.
func TestEveryRuleFiresAndHidesNoFault(t *testing.T) {
	code := source(t, "test", "compare_test.cpp") + source(t, "test", "bracket_test.cpp") + source(t, "test", "edges_test.cpp")
	bodies := map[string]string{}
	for _, test := range regexp.MustCompile(`(?m)^TEST`).Split(code, -1) {
		if m := regexp.MustCompile(`^(?:_F)?\((\w+), (\w+)\)`).FindStringSubmatch(test); m != nil {
			bodies[m[1]+"."+m[2]] = test
		}
	}
	enum := regexp.MustCompile(`(?s)enum class Rule : uint8_t \{(.*?)\};`).FindStringSubmatch(source(t, "src", "verdict.h"))
	require.NotNil(t, enum)
	ids := regexp.MustCompile(`(?m)^\s*(k\w+),`).FindAllStringSubmatch(enum[1], -1)
	rules := recipe.AgentWords().Rules
	require.Len(t, ids, len(rules)+2, "with kUnspecified and kCount")
	require.Len(t, proofs, len(rules), "a rule was removed: remove its tests here")
	for i, rule := range rules {
		proof, ok := proofs[rule.Name]
		require.Truef(t, ok, "the rule %s has no tests: name them here", rule.Name)
		id := ids[i+1][1]
		require.Regexp(t, `Rule::`+id+`\b|Explained::`+id+`\b`, bodies[proof.fires],
			"%s does not expect %s", proof.fires, rule.Name)
		require.Regexp(t, `Mismatch|MISMATCH|kNothing|Impossible`, bodies[proof.fault],
			"%s catches no fault behind %s", proof.fault, rule.Name)
	}
}
