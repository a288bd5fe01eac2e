package view_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/coordinator/store"
	"misstep/coordinator/view"
)

func TestCombinations(t *testing.T) {
	s := populated(t)
	require.NoError(t, s.View(t.Context(), func(tx store.Tx) error {
		all, err := view.Combinations(tx, "C1")
		require.NoError(t, err)
		counts := map[string][2]uint64{}
		for _, c := range all {
			counts[c.GetJdk()] = [2]uint64{c.GetHits(), c.GetTrials()}
		}
		assert.Equal(t, map[string][2]uint64{"jdk17": {3, 4}, "jdk25": {3, 4}}, counts)
		none, err := view.Combinations(tx, "C9")
		assert.Empty(t, none)
		return err
	}))
}
