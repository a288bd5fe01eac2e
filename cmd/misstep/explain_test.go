package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"misstep/triage"
)

func TestRenderExplanation(t *testing.T) {
	var out strings.Builder
	parts := []string{"mismatch", "edges", "impossible-edge", "a.B <- a.C"}
	renderExplanation(&out, explained{"F0123456789ab", "a title", parts, triage.Explanation{
		Rule: "edge/edge-at-safepoint", Reason: "The edge itself is named.",
		Facts: []triage.Fact{
			{Name: "check", Value: "edges"}, {Name: "near", Value: true}, {Name: "far", Value: false}, {Name: "frames", Value: 3},
		},
	}})
	assert.Equal(t, `F0123456789ab  a title
signature: mismatch | edges | impossible-edge | a.B <- a.C
rule: edge/edge-at-safepoint
  The edge itself is named.

fact    value
check   edges
near    yes
frames  3
no, 0 or empty: 1 more, in --json
`, out.String())
}
