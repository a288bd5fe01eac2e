package check

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// did is a check that compared so many of what it was asked; the rest had an error code for a stack.
func did(name string, compared, asked uint64) *misstepv1.CheckCount {
	c := &misstepv1.CheckCount{Check: name, Total: asked, Match: compared}
	if lost := asked - compared; lost > 0 {
		c.Unwalkable = map[int32]uint64{-5: lost}
	}
	return c
}

// A walker is judged if one of its checks compared enough; then no other check that took no sample makes the gate prove nothing.
func TestAWalkerIsJudgedByAnyOfItsChecks(t *testing.T) {
	type counts = []*misstepv1.CheckCount
	for name, c := range map[string]struct {
		checks counts
		open   string // the check that leaves its walker unjudged
		idle   int
	}{
		"all compared": {
			counts{did(recipe.GstAsgct, 1, 1), did(recipe.AsgctShadow, 1, 1)}, "", 0,
		},
		"another check of the walker did": {
			counts{did(recipe.GstAsgct, 0, 0), did(recipe.AsgctShadow, 4000, 5000)}, "", 1,
		},
		"whichever of them": {
			counts{did(recipe.GstAsgct, 100, 100), did(recipe.AsgctShadow, 0, 0)}, "", 1,
		},
		"samples that could not be compared": {
			counts{did(recipe.GstAsgct, 500, 500), did(recipe.AsgctShadow, 0, 900)}, recipe.AsgctShadow, 1,
		},
		"too few that could": {
			counts{did(recipe.GstAsgct, 500, 500), did(recipe.AsgctShadow, 9, 900)}, recipe.AsgctShadow, 1,
		},
		"another check had too few": {
			counts{did(recipe.GstAsgct, 0, 0), did(recipe.AsgctShadow, 99, 99)}, recipe.GstAsgct, 1,
		},
		"another check hardly compared": {
			counts{did(recipe.GstAsgct, 0, 0), did(recipe.AsgctShadow, 200, 9000)}, recipe.GstAsgct, 2,
		},
		"one check alone": {
			counts{did(recipe.GstAsgct, 0, 0)}, recipe.GstAsgct, 1,
		},
		"none of the walker": {
			counts{did(recipe.GstAsgct, 0, 0), did(recipe.AsgctShadow, 0, 0)}, recipe.GstAsgct, 2,
		},
		"a check of another walker": {
			counts{did(recipe.ShadowGst, 0, 0), did(recipe.AsgctShadow, 4000, 4000)}, recipe.ShadowGst, 1,
		},
		"a check of every walker beside one": {
			counts{did(recipe.AsgctGstBracket, 400, 400), did(recipe.Edges, 0, 0)}, "", 1,
		},
		"a check of every walker, one open": {
			counts{did(recipe.GstAsgct, 50, 50), did(recipe.ShadowGst, 500, 500), did(recipe.Edges, 0, 0)}, recipe.Edges, 1,
		},
		"a check of every walker alone": {
			counts{did(recipe.Liveness, 0, 0)}, recipe.Liveness, 1,
		},
		"no stand-in for a walker": {
			counts{did(recipe.AsgctGstBracket, 0, 0), did(recipe.Liveness, 900, 900)}, recipe.AsgctGstBracket, 1,
		},
		"chunks say nothing of stacks": {
			counts{did(recipe.JfrShadow, 0, 0), did(recipe.JfrChunks, 900, 900)}, recipe.JfrShadow, 1,
		},
		"a recording's stacks, but no chunks": {
			counts{did(recipe.JfrShadow, 900, 900), did(recipe.JfrChunks, 0, 0)}, "", 1,
		},
	} {
		reason := strings.Join(idle(c.checks), "")
		o := &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_VOID, Reason: reason, Checks: c.checks}
		if c.idle == 0 {
			o.Kind = misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN
		}
		settle(o)
		r := report(nil, 1, one(1, "17.0.15", o).side, o, none)
		v := Gate{FailOn: FailOnNew}.Judge(r)
		assert.Len(t, r.Idle, c.idle, "%s: it is told which check compared nothing", name)
		assert.Equal(t, c.open == "", r.Proved(), name)
		assert.Equal(t, c.open == "", len(v.Unproved) == 0, "%s: %v", name, v)

		conclude(o) // of several JVMs
		if c.open == "" {
			assert.Equal(t, misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN, o.GetKind(), name)
		} else {
			assert.Contains(t, o.GetReason(), "in all JVMs together, check "+c.open+" compared ", name)
		}
	}
}

// Nothing but a check that compared nothing is made up for, and the reason names the check whose walker is open.
func TestReasonsThatStay(t *testing.T) {
	judged := []*misstepv1.CheckCount{did(recipe.GstAsgct, 0, 0), did(recipe.AsgctShadow, 4000, 4000), did(recipe.ShadowGst, 0, 0)}
	o := &misstepv1.Outcome{
		Kind: misstepv1.OutcomeKind_OUTCOME_KIND_VOID, Reason: idle(judged)[0], Checks: judged,
	}
	settle(o)
	assert.Contains(t, o.GetReason(), "check shadow-gst compared nothing")

	for _, checks := range [][]*misstepv1.CheckCount{nil, {did(recipe.GstAsgct, 0, 0)}} {
		early := &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_VOID, Reason: "the JVM ended", Checks: checks}
		settle(early)
		assert.Equal(t, misstepv1.OutcomeKind_OUTCOME_KIND_VOID, early.GetKind())
		assert.Equal(t, "the JVM ended", early.GetReason())
	}
	crash := &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CRASH, Checks: judged[:2]}
	settle(crash)
	assert.Equal(t, misstepv1.OutcomeKind_OUTCOME_KIND_CRASH, crash.GetKind())
}
