package watch

import (
	"slices"

	misstepv1 "misstep/proto/misstep/v1"
)

// Changes returns the states that a finding has now and did not have before: what is worth a notification. A state is the same when
// its kind, JDK and bug are; figures that only grew are no change.
func Changes(before, after []*misstepv1.FindingState) []*misstepv1.FindingState {
	var out []*misstepv1.FindingState
	for _, s := range after {
		if !slices.ContainsFunc(before, func(b *misstepv1.FindingState) bool {
			return b.GetKind() == s.GetKind() && b.GetJdk() == s.GetJdk() && b.GetBug() == s.GetBug()
		}) {
			out = append(out, s)
		}
	}
	return out
}
