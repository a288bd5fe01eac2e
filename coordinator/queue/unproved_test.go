package queue

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	misstepv1 "misstep/proto/misstep/v1"
)

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
