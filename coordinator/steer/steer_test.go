package steer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"misstep/coordinator/steer"
	misstepv1 "misstep/proto/misstep/v1"
)

// What a campaign may ask for, a coordinator can do, and it stays inside the product whatever its size.
func TestEveryStrategyOfTheProtocol(t *testing.T) {
	for number, name := range misstepv1.Strategy_name {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				size := rapid.Uint64Range(1, 1<<40).Draw(t, "size")
				c := steer.Config{Seed: rapid.Uint64().Draw(t, "seed"), Size: size}
				s, err := steer.New(misstepv1.Strategy(number), c)
				require.NoError(t, err)
				index := rapid.Uint64Range(0, 1<<50).Draw(t, "index")
				k := s.Choose(index)
				assert.Less(t, k, size)
				assert.Equal(t, k, s.Choose(index), "asking changes nothing")

				s.Learn(steer.Result{Index: index, Outcome: &misstepv1.Outcome{}})
				c.State, err = s.State()
				require.NoError(t, err)
				again, err := steer.New(misstepv1.Strategy(number), c)
				require.NoError(t, err)
				assert.Equal(t, s.Choose(index+1), again.Choose(index+1), "the state is all that there is")
			})
		})
	}
}

func TestUnknownStrategy(t *testing.T) {
	_, err := steer.New(99, steer.Config{Size: 1})
	require.ErrorContains(t, err, "is not known here")
}

// The smallest products have an order, too.
func TestRoundRobinVisitsAll(t *testing.T) {
	for size := uint64(1); size < 40; size++ {
		s, err := steer.New(misstepv1.Strategy_STRATEGY_ROUND_ROBIN, steer.Config{Seed: size, Size: size})
		require.NoError(t, err)
		for round := range uint64(3) {
			seen := map[uint64]bool{}
			for i := range size {
				seen[s.Choose(round*size+i)] = true
			}
			assert.Len(t, seen, int(size))
		}
	}
}
