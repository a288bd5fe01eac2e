package reproduce

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// In a design each factor is out in half of the rows, and with each other factor in a quarter, so one's effect is not taken for
// another's.
func TestDesignIsBalanced(t *testing.T) {
	for factors := 1; factors <= 40; factors++ {
		rows := design(factors)
		require.Zero(t, rows[0])
		for i := range factors {
			for j := range factors {
				both, one := 0, 0
				for _, out := range rows {
					if out&(1<<i) != 0 {
						one++
						if out&(1<<j) != 0 {
							both++
						}
					}
				}
				require.Equal(t, len(rows)/2, one)
				if i != j {
					require.Equal(t, len(rows)/4, both, "%d and %d of %d", i, j, factors)
				}
			}
		}
	}
}

// A fit finds the losses that the tries were drawn with, and says 1 of what does nothing.
func TestFitFindsLosses(t *testing.T) {
	random := rand.New(rand.NewPCG(8303444, 1))
	truth := []float64{0, 0.4, 0, 0, 0.15, 0, 0, 1.2, 0, 0, 0}
	for _, base := range []float64{0.95, 0.5, 0.1} {
		var data []row
		for _, out := range design(len(truth)) {
			rate := base
			for j, loss := range truth {
				if out&(1<<j) != 0 {
					rate *= math.Exp(-loss)
				}
			}
			data = append(data, row{out, draws(random, counts{}, int(2000/base), rate)})
		}
		p, losses := fit(data, len(truth))
		assert.InDelta(t, base, p, 0.05*base)
		assert.InDeltaSlice(t, truth, losses, 0.07)
	}
}

// Whatever the tries were, losses are numbers.
func TestFitOfExtremes(t *testing.T) {
	for name, each := range map[string]counts{"none": {}, "all hit": {5, 5}, "none hit": {0, 5}, "many hit": {100_000, 100_000}} {
		var data []row
		for _, out := range design(9) {
			data = append(data, row{out, each})
		}
		p, losses := fit(data, 9)
		for _, x := range append(losses, p) {
			assert.False(t, math.IsNaN(x) || math.IsInf(x, 0), "%s: %g", name, losses)
		}
		for _, loss := range losses {
			assert.InDelta(t, 0, loss, 0.01, name)
		}
	}
}
