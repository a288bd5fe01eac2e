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
	digests := map[misstepv1.Strategy]string{
		misstepv1.Strategy_STRATEGY_UNSPECIFIED: "1a09051d21ea3b1e",
		misstepv1.Strategy_STRATEGY_ROUND_ROBIN: "1a09051d21ea3b1e",
		misstepv1.Strategy_STRATEGY_RANDOM:      "ee7225c47445d268",
	}
	for number, name := range misstepv1.Strategy_name {
		strategy := misstepv1.Strategy(number)
		t.Run(name, func(t *testing.T) {
			sum := sha256.New()
			for _, seed := range []uint64{0, 5, 1<<64 - 1} {
				e := expansion(t, wide(strategy, seed))
				for i := range 3 * e.Size() {
					d, err := misstepv1.RecipeDigest(e.Recipe(i))
					require.NoError(t, err)
					fmt.Fprintln(sum, d)
				}
			}
			got := hex.EncodeToString(sum.Sum(nil)[:8])
			require.Contains(t, digests, strategy, "a new strategy needs a line in digests: %q", got)
			assert.Equal(t, digests[strategy], got)
		})
	}
}
