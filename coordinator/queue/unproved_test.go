package queue

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"google.golang.org/protobuf/proto"

	misstepv1 "misstep/proto/misstep/v1"
)

// A trial that found something and was stopped at its limit as well is counted under both: neither hides the other.
func TestAFailureBesideAFindingIsCounted(t *testing.T) {
	tally, jdk17 := &misstepv1.CampaignStatus{}, &misstepv1.Recipe{Jdk: &misstepv1.Jdk{Name: "jdk17"}}
	stopped := &misstepv1.ApplicationFailure{Reason: "wall", Message: "not done after 240 s"}
	mismatches, failed := misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES, misstepv1.OutcomeKind_OUTCOME_KIND_APPLICATION_FAILURE
	addOutcome(tally, &misstepv1.Outcome{Kind: mismatches, ApplicationFailure: stopped}, jdk17, []string{"F1"})
	addOutcome(tally, &misstepv1.Outcome{Kind: mismatches, ApplicationFailure: stopped}, jdk17, []string{"F1"})
	addOutcome(tally, &misstepv1.Outcome{Kind: mismatches}, jdk17, []string{"F1"})
	addOutcome(tally, &misstepv1.Outcome{Kind: failed, Reason: "wall: not done", ApplicationFailure: stopped}, jdk17, nil)
	want := &misstepv1.UnprovedTrials{Outcome: "mismatches", Reason: "wall: not done after 240 s", Jdk: "jdk17", Trials: 2}
	assert.Len(t, tally.GetFailedBeside(), 1)
	assert.True(t, proto.Equal(want, tally.GetFailedBeside()[0]), "%v", tally.GetFailedBeside())
	assert.Len(t, tally.GetUnproved(), 1)
	assert.Equal(t, map[string]uint64{"mismatches": 3, "application-failure": 1}, tally.GetOutcomes())
}

func TestUnprovedTrialsAreGroupedByReasonAndJDK(t *testing.T) {
	tally := &misstepv1.CampaignStatus{}
	jdk17, jdk21 := &misstepv1.Jdk{Name: "jdk17"}, &misstepv1.Jdk{Name: "jdk21"}
	addUnproved(tally, "void", "check gst compared nothing: of 12 samples 3 were void", jdk17)
	addUnproved(tally, "void", "check gst compared nothing: of 7 samples 7 were void", jdk17)
	addUnproved(tally, "void", "check gst compared nothing: of 7 samples 7 were void", jdk21)
	addUnproved(tally, "application-failure", "start: Unrecognized VM option 'UseG1'", jdk17)
	addUnproved(tally, "application-failure", "start: Unrecognized VM option 'UseG2'", jdk17)
	var groups []string
	for _, u := range tally.GetUnproved() {
		groups = append(groups, fmt.Sprintf("%d %s %s %s", u.GetTrials(), u.GetOutcome(), u.GetReason(), u.GetJdk()))
	}
	assert.Equal(t, []string{
		"2 void check gst compared nothing: of 12 samples 3 were void jdk17",
		"1 void check gst compared nothing: of 7 samples 7 were void jdk21",
		"1 application-failure start: Unrecognized VM option 'UseG1' jdk17",
		"1 application-failure start: Unrecognized VM option 'UseG2' jdk17",
	}, groups)
	for i := range 100 {
		addUnproved(tally, "void", fmt.Sprintf("reason%d", i), jdk17)
	}
	assert.Len(t, tally.GetUnproved(), maxUnproved)
}
