package queue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"google.golang.org/protobuf/proto"

	"misstep/coordinator/store"
	"misstep/internal/testenv/filled"
	misstepv1 "misstep/proto/misstep/v1"
)

// A tally of one's own has all that the other one has, whatever fields tallies have, and what is added to it changes nothing there.
func TestOwnTally(t *testing.T) {
	read := filled.Message(&misstepv1.CampaignStatus{})
	on := read.GetCompared()[0]
	before := proto.CloneOf(read)
	c := &store.Campaign{Tally: read}
	ownTally(c)
	assert.True(t, proto.Equal(before, c.Tally))

	checks := []*misstepv1.CheckCount{{
		Check: "text", Total: 3, Tolerated: map[string]uint64{"text": 1}, Unwalkable: map[int32]uint64{1: 1},
		Void: map[string]uint64{"text": 1},
	}}
	addOutcome(c.Tally, &misstepv1.Outcome{
		Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN, Checks: checks, Signals: &misstepv1.SignalCount{Sent: 1},
		Mismatches: []*misstepv1.Mismatch{{Check: "text", Kind: "truncated", Count: 1}},
	}, &misstepv1.Recipe{
		Jdk: &misstepv1.Jdk{Name: on.GetJdk()}, Profiler: &misstepv1.Profiler{Name: on.GetProfiler()},
	}, []string{"a", "z"})
	addUnproved(c.Tally, "text", "text", &misstepv1.Jdk{Name: "text"})
	addUnfinished(c.Tally, 1)
	addUsage(c.Tally, &misstepv1.Outcome{}, time.Now())
	c.Tally.GetRepetitions().Ended++
	assert.True(t, proto.Equal(before, read), "the tally that was read is shared")
	assert.EqualValues(t, 2, c.Tally.GetUnproved()[0].GetTrials())
	assert.EqualValues(t, 4, c.Tally.GetChecks()[0].GetTotal())
	assert.EqualValues(t, 2, c.Tally.GetCompared()[0].GetChecks()[0].GetVoid()["text"])
	assert.Equal(t, []string{"a", "text", "z"}, c.Tally.GetFindingIds())
	assert.EqualValues(t, 1, before.GetRepetitions().GetEnded())
}
