package fleet

import (
	"testing"

	"github.com/stretchr/testify/require"

	misstepv1 "misstep/proto/misstep/v1"
)

func TestKept(t *testing.T) {
	bounded := &misstepv1.FleetRunners{Min: 1, Max: 3, Count: 2}
	for now, want := range map[int]int{0: 1, 1: 1, 2: 2, 3: 3, 4: 3} {
		require.Equal(t, want, kept(bounded, now), "%d runners of 1 to 3", now)
	}
	require.Equal(t, 2, kept(&misstepv1.FleetRunners{Count: 2}, 5), "a fixed number is the file's")
	require.Zero(t, kept(&misstepv1.FleetRunners{Max: 3, Count: 2}, 0), "drained, and nothing asks for more")
}
