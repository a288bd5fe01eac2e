package campaign_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	misstepv1 "misstep/proto/misstep/v1"
)

// The order of recipes is part of what a stored campaign means: a coordinator that was replaced by a newer one continues the
// same order. The digests were taken before strategies became types of their own.
func TestOrderNeverChanges(t *testing.T) {
	cases := []struct {
		strategy misstepv1.Strategy
		want     string
	}{
		{misstepv1.Strategy_STRATEGY_UNSPECIFIED, "1a09051d21ea3b1e"},
		{misstepv1.Strategy_STRATEGY_ROUND_ROBIN, "1a09051d21ea3b1e"},
		{misstepv1.Strategy_STRATEGY_RANDOM, "ee7225c47445d268"},
	}
	require.Len(t, cases, len(misstepv1.Strategy_name), "give a new strategy a line: its digest is what the failing test prints")
	for _, c := range cases {
		t.Run(c.strategy.String(), func(t *testing.T) {
			sum := sha256.New()
			for _, seed := range []uint64{0, 5, 1<<64 - 1} {
				e := expansion(t, wide(c.strategy, seed))
				for i := range 3 * e.Size() {
					d, err := misstepv1.RecipeDigest(e.Recipe(i))
					require.NoError(t, err)
					fmt.Fprintln(sum, d)
				}
			}
			assert.Equal(t, c.want, hex.EncodeToString(sum.Sum(nil)[:8]))
		})
	}
}
