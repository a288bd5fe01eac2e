package watch

import (
	"fmt"
	"time"

	misstepv1 "misstep/proto/misstep/v1"
)

// Text returns a state in one line for people, with the figures on which it rests.
func Text(s *misstepv1.FindingState) string {
	switch s.GetKind() {
	case misstepv1.StateQuiet:
		return fmt.Sprintf("quiet on %s: 0 hits in %d trials since %s; expected %.3g from %d hits before; p = %.2g (below %.2g)",
			s.GetJdk(), s.GetTrials(), s.GetSince().AsTime().Local().Format(time.DateOnly), s.GetExpected(), s.GetHits(), s.GetP(),
			s.GetLevel())
	case misstepv1.StateBack:
		return fmt.Sprintf("back on %s: %d hits in %d trials, although %s is fixed in %s: "+
			"the fix does not hold, or this is a new bug", s.GetJdk(), s.GetHits(), s.GetTrials(), s.GetBug(), s.GetFixedIn())
	}
	return s.GetKind() + " on " + s.GetJdk()
}
