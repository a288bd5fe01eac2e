package watch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"google.golang.org/protobuf/types/known/timestamppb"

	misstepv1 "misstep/proto/misstep/v1"
)

func TestText(t *testing.T) {
	assert.Equal(t, "quiet on jdk17: 0 hits in 4100 trials since 2026-11-20; expected 37 from 40 hits before; p = 1e-09 (below 4e-06)",
		Text(&misstepv1.FindingState{
			Kind: "quiet", Jdk: "jdk17", Hits: 40, Trials: 4100, Expected: 37, P: 1e-9, Level: 4e-6,
			Since: timestamppb.New(time.Date(2026, 11, 20, 12, 0, 0, 0, time.Local)),
		}))
	assert.Contains(t, Text(&misstepv1.FindingState{Kind: "back", Jdk: "new", Hits: 2, Trials: 102, Bug: "P-1", FixedIn: "17.0.16"}),
		"back on new: 2 hits in 102 trials, although P-1 is fixed in 17.0.16")
}
