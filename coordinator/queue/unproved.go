package queue

import (
	"regexp"

	misstepv1 "misstep/proto/misstep/v1"
)

// GivenUp is the outcome, in UnprovedTrials, of trials that were given up after infrastructure failures.
const GivenUp = "given-up"

// maxUnproved bounds the groups of a campaign's trials that proved nothing.
const maxUnproved = 16

// numberRE matches what differs between reasons that mean the same: "compared nothing: of 12 samples". Names such as G1 stay.
var numberRE = regexp.MustCompile(`\b\d+\b`)

// addUnproved counts a trial that ended with an outcome that proves nothing, under its reason and JDK. When there are as many
// groups as a campaign may have, a trial that fits none of them is not counted here.
func addUnproved(tally *misstepv1.CampaignStatus, outcome, reason string, jdk *misstepv1.Jdk) {
	shape := numberRE.ReplaceAllString(reason, "0")
	for _, u := range tally.GetUnproved() {
		if u.GetOutcome() == outcome && u.GetJdk() == jdk.GetName() && numberRE.ReplaceAllString(u.GetReason(), "0") == shape {
			u.Trials++
			return
		}
	}
	if len(tally.GetUnproved()) < maxUnproved {
		tally.Unproved = append(tally.Unproved, &misstepv1.UnprovedTrials{
			Outcome: outcome, Reason: reason, Jdk: jdk.GetName(), Trials: 1,
		})
	}
}

// provesNothing reports whether a trial with this outcome is counted as unproved.
func provesNothing(kind misstepv1.OutcomeKind) bool {
	return kind == misstepv1.OutcomeKind_OUTCOME_KIND_VOID || kind == misstepv1.OutcomeKind_OUTCOME_KIND_APPLICATION_FAILURE
}
