package bundle

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	misstepv1 "misstep/proto/misstep/v1"
)

// part executes one part of the templates.
func part(t *testing.T, name string, data any) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, partsTemplate.ExecuteTemplate(&b, name, data))
	return b.String()
}

func TestReproductionInWords(t *testing.T) {
	none := &misstepv1.Reproducer{}
	assert.Nil(t, newNeeds(none))
	assert.Nil(t, newAffectedBuilds(none))
	assert.Equal(t, "not measured\n", part(t, "rate", newRate(none)))

	r := &misstepv1.Reproducer{
		Steps:   []*misstepv1.ReproductionStep{{Name: "confirm"}},
		Kept:    []*misstepv1.RecipeElement{{Kind: "flag", Name: "-Xcomp"}},
		Removed: []*misstepv1.RecipeElement{{Kind: "flag", Name: "-Xss1m `x`"}},
		Reliability: &misstepv1.Reliability{
			Hits:  5,
			Tries: 10,
		}, Clean: &misstepv1.Reliability{Hits: 9, Tries: 10}, MeanTry: durationpb.New(3 * time.Second),
		Bisection: &misstepv1.Bisection{
			Builds: []*misstepv1.BisectedBuild{
				{Jdk: &misstepv1.Jdk{Name: "a", Version: "17.0.1"}, Tries: 20, Affected: 0.01},
				{Jdk: &misstepv1.Jdk{Name: "b"}, Hits: 5, Tries: 10, Affected: 1},
				{Jdk: &misstepv1.Jdk{Name: "c"}, Affected: 0.9, Skipped: "no | such\nJDK"},
			},
			LastGood: "a", FirstAffected: "b", LastAffected: "b", Confidence: 0.99, NewestAffected: 1,
		},
	}
	assert.Contains(t, part(t, "needs", newNeeds(r)), "- flag `-Xcomp`\n")
	assert.Contains(t, part(t, "needs", newNeeds(r)), "- flag `-Xss1m 'x'`\n")
	assert.Contains(t, part(t, "builds", newAffectedBuilds(r)), "| 17.0.1 | 0 of 20 tries | 1.0 % |\n")
	assert.Contains(t, part(t, "builds", newAffectedBuilds(r)), "not tried: no \\| such JDK |\n")
	assert.Contains(
		t,
		part(t, "builds", newAffectedBuilds(r)),
		"First affected build: b (last good: a).\nLast affected build: b (first fixed: none tried).\nConfidence: 99 %.",
	)
	assert.True(t, strings.HasSuffix(part(t, "rate", newRate(r)),
		" Mean time to a hit on the machine that measured this: 6s. From this bundle alone, in a new folder: 9 of 10 runs.\n"))
}

// A finding without a method in its signature: the records of other findings, whose stacks were left out, are no example of it.
func TestARecordWithoutStacksIsNoExample(t *testing.T) {
	frames := []*misstepv1.Frame{{ClassName: "a.B", Method: "f"}}
	bare := &misstepv1.Mismatch{Check: "edges", Kind: "impossible-edge", Reference: &misstepv1.Trace{}, Suspect: &misstepv1.Trace{}}
	whole := &misstepv1.Mismatch{
		Check:     "edges",
		Kind:      "impossible-edge",
		Reference: &misstepv1.Trace{Frames: frames},
		Suspect:   &misstepv1.Trace{},
	}
	e := Expect{Check: "edges", MismatchKind: "impossible-edge"}
	assert.Same(t, whole, chooseMismatch(&misstepv1.Outcome{Mismatches: []*misstepv1.Mismatch{bare, whole}}, e))
	assert.Nil(t, chooseMismatch(&misstepv1.Outcome{Mismatches: []*misstepv1.Mismatch{bare}}, e))
}
