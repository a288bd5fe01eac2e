package jvm

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A program that takes what no limit counted before is ended, nothing of it is left, and the next trial runs.
func TestProgramsThatTakeEverything(t *testing.T) {
	everyJDK(t, func(t *testing.T, s *stand, feature int) {
		for _, c := range []struct{ program, reason, says string }{
			{"nest", "disk", "nested more than 128 deep"},
			{"files", "disk", "beyond the limit of 16 MiB"},
			{"processes", "processes", "beyond the limit of 256"},
		} {
			recipe := recipeOf(feature, c.program)
			recipe.Limits.DiskMib, recipe.Limits.MemoryMib = 16, 4096
			outcome, err := s.run(t, t.Context(), recipe)
			require.NoError(t, err, c.program)
			require.Equal(t, failure, outcome.GetKind(), "%s: %s", c.program, outcome.GetReason())
			require.Equal(t, c.reason, outcome.GetApplicationFailure().GetReason(), c.program)
			require.Contains(t, outcome.GetApplicationFailure().GetMessage(), c.says)

			outcome, err = s.run(t, t.Context(), recipeOf(feature, "verified"))
			require.NoError(t, err, "after %s", c.program)
			require.Equal(t, clean, outcome.GetKind(), "after %s: %s", c.program, outcome.GetReason())
		}
	})
}
