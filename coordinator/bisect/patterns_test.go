package bisect

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNumbers(t *testing.T) {
	assert.Equal(t, []int{17, 0, 15, 6}, numbers("OpenJDK 64-Bit Server VM (17.0.15+6-Debian-1deb12u1) for linux-amd64"))
	assert.Equal(t, []int{8, 0, 402, 6}, numbers("1.8.0_402-b06"))
	assert.Empty(t, numbers("none"))
}

func TestPatternsAddUp(t *testing.T) {
	for n := 1; n < 12; n++ {
		for _, affected := range []bool{false, true} {
			sum := 0.0
			for _, p := range patterns(n, affected) {
				sum += p.weight
				assert.False(t, math.IsNaN(p.weight))
				assert.Equal(t, affected, p.from == 0 && p.to > 0)
			}
			assert.InDelta(t, 1, sum, 1e-9)
		}
	}
}
