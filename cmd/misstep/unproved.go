package main

import (
	"fmt"
	"io"
	"strings"

	"misstep/app/station"
	misstepv1 "misstep/proto/misstep/v1"
)

// renderUnproved prints why trials of a campaign proved nothing, a line for each outcome, reason and JDK.
func renderUnproved(w io.Writer, s *misstepv1.CampaignStatus) {
	ended := station.Finished(s) + s.GetFailed()
	for _, u := range s.GetUnproved() {
		reason := u.GetReason()
		if rest, found := strings.CutPrefix(reason, "start: "); found {
			reason = "the JVM did not start: " + rest
		}
		fmt.Fprintf(w, "%d of %d trials %s: %s (%s)\n", u.GetTrials(), ended, u.GetOutcome(), printable(reason), u.GetJdk())
	}
}

// renderFailedBeside prints which trials found something and failed as well: what they found counts, the rest of them is open.
func renderFailedBeside(w io.Writer, s *misstepv1.CampaignStatus) {
	for _, u := range s.GetFailedBeside() {
		fmt.Fprintf(w, "%d of the trials with outcome %s failed as well: %s (%s)\n", u.GetTrials(), u.GetOutcome(),
			printable(u.GetReason()), u.GetJdk())
	}
}

// nothingProved is how a hunt in dir ends whose checks compared nothing and that found nothing; nil for any other.
func nothingProved(s *misstepv1.CampaignStatus, dir string) error {
	for _, c := range s.GetChecks() {
		if c.GetMatch()+total(c.GetTolerated())+c.GetMismatch() > 0 {
			return nil
		}
	}
	if len(s.GetFindingIds()) > 0 {
		return nil
	}
	reason := "no trial ended: give it more time (--for)"
	if ended := station.Finished(s) + s.GetFailed(); ended > 0 {
		reason = fmt.Sprintf("none of %d trials checked anything; `misstep campaign trials %s --dir %s` lists them",
			ended, s.GetId(), dir)
	}
	return &exitError{code: exitVoid, err: fmt.Errorf("nothing was proved: %s", reason)}
}
