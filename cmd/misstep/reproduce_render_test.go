package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	misstepv1 "misstep/proto/misstep/v1"
)

// A coordinator notices the end of a budget a moment late: no negative time is shown.
func TestReproductionLineShowsNoNegativeTime(t *testing.T) {
	for left, want := range map[time.Duration]string{-79 * time.Second: "| ETA 0s", 79 * time.Second: "| ETA 1m19s"} {
		require.Contains(t, reproductionLine(&misstepv1.ReproductionStatus{Left: durationpb.New(left)}), want)
	}
}
