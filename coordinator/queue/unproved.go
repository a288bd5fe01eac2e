package queue

import (
	"regexp"
	"slices"

	"google.golang.org/protobuf/proto"

	misstepv1 "misstep/proto/misstep/v1"
)

// GivenUp is the outcome, in UnprovedTrials, of trials that were given up after infrastructure failures.
const GivenUp = "given-up"

// maxUnproved bounds the groups of a campaign's trials that proved nothing, and of those that failed beside what they found.
const maxUnproved = 16

// numberRE matches what differs between reasons that mean the same: "compared nothing: of 12 samples". Names such as G1 stay.
var numberRE = regexp.MustCompile(`\b\d+\b`)

// addUnproved counts a trial that ended with an outcome that proves nothing.
func addUnproved(tally *misstepv1.CampaignStatus, outcome, reason string, jdk *misstepv1.Jdk) {
	tally.Unproved = addGroup(tally.GetUnproved(), outcome, reason, jdk)
}

// addFailedBeside counts a trial that found something and whose workload failed as well.
func addFailedBeside(tally *misstepv1.CampaignStatus, o *misstepv1.Outcome, jdk *misstepv1.Jdk) {
	f := o.GetApplicationFailure()
	why := f.GetReason() + ": " + f.GetMessage()
	tally.FailedBeside = addGroup(tally.GetFailedBeside(), misstepv1.OutcomeName(o.GetKind()), why, jdk)
}

// addGroup counts a trial under its outcome, reason and JDK. When there are as many groups as a campaign may have, a trial that
// fits none of them is not counted here.
func addGroup(groups []*misstepv1.UnprovedTrials, outcome, reason string, jdk *misstepv1.Jdk) []*misstepv1.UnprovedTrials {
	shape := numberRE.ReplaceAllString(reason, "0")
	for _, u := range groups {
		if u.GetOutcome() == outcome && u.GetJdk() == jdk.GetName() && numberRE.ReplaceAllString(u.GetReason(), "0") == shape {
			u.Trials++
			return groups
		}
	}
	if len(groups) == maxUnproved {
		return groups
	}
	return append(groups, &misstepv1.UnprovedTrials{Outcome: outcome, Reason: reason, Jdk: jdk.GetName(), Trials: 1})
}

// cloneGroups returns copies of groups.
func cloneGroups(groups []*misstepv1.UnprovedTrials) []*misstepv1.UnprovedTrials {
	own := slices.Clone(groups)
	for i, g := range own {
		own[i] = proto.CloneOf(g)
	}
	return own
}

// provesNothing reports whether a trial with this outcome is counted as unproved.
func provesNothing(kind misstepv1.OutcomeKind) bool {
	return kind == misstepv1.OutcomeKind_OUTCOME_KIND_VOID || kind == misstepv1.OutcomeKind_OUTCOME_KIND_APPLICATION_FAILURE
}
