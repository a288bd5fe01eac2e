package queue

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// The checks of trials are counted by JDK and profiler, in a bounded number of groups, and add up to those of the campaign.
func TestChecksByJDKAndProfiler(t *testing.T) {
	tally := &misstepv1.CampaignStatus{}
	add := func(jdk, option string) {
		addOutcome(tally, &misstepv1.Outcome{
			Checks: []*misstepv1.CheckCount{
				{Check: "profiler-shadow", Total: 3, Match: 1, Mismatch: 1, Void: map[string]uint64{"clock": 1}},
			},
			Mismatches: []*misstepv1.Mismatch{{Check: "profiler-shadow", Kind: "truncated", Count: 1}},
		}, &misstepv1.Recipe{
			Jdk: &misstepv1.Jdk{Name: jdk}, Profiler: &misstepv1.Profiler{Name: "async-profiler", Options: []string{option}},
		}, nil)
	}
	add("jdk17", "cstack=vm")
	add("jdk28", "cstack=vm")
	add("jdk28", "cstack=no")
	add("jdk28", "cstack=vm")
	require.Len(t, tally.GetCompared(), 3)
	second := tally.GetCompared()[1]
	assert.Equal(t, "jdk28 async-profiler,cstack=vm", second.GetJdk()+" "+second.GetProfiler())
	assert.EqualValues(t, 6, second.GetChecks()[0].GetTotal())
	assert.EqualValues(t, 2, second.GetChecks()[0].GetVoid()["clock"])
	assert.EqualValues(t, 2, second.GetCut()["profiler-shadow"])

	read := &store.Campaign{Tally: tally}
	before := proto.CloneOf(tally)
	own := *read
	ownTally(&own)
	addOutcome(own.Tally, &misstepv1.Outcome{Checks: []*misstepv1.CheckCount{{Check: "profiler-shadow", Total: 1, Match: 1}}},
		&misstepv1.Recipe{Jdk: &misstepv1.Jdk{Name: "jdk17"}, Profiler: &misstepv1.Profiler{
			Name: "async-profiler", Options: []string{"cstack=vm"},
		}}, nil)
	assert.EqualValues(t, 4, own.Tally.GetCompared()[0].GetChecks()[0].GetTotal())
	assert.True(t, proto.Equal(before, read.Tally), "the tally that was read is shared")

	for i := range 2 * maxCompared {
		add(fmt.Sprint("build", i), "cstack=vm")
	}
	addOutcome(tally, &misstepv1.Outcome{}, &misstepv1.Recipe{}, nil)
	require.Len(t, tally.GetCompared(), maxCompared)
	assert.Empty(t, tally.GetCompared()[maxCompared-1].GetJdk(), "several")
	var total uint64
	for _, on := range tally.GetCompared() {
		total += on.GetChecks()[0].GetTotal()
	}
	assert.Equal(t, tally.GetChecks()[0].GetTotal(), total)
}
