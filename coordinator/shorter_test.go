package coordinator

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	misstepv1 "misstep/proto/misstep/v1"
)

// The choice of a reproducer's example among its verifying hits does not depend on the order in which they ended.
func TestExampleIsNoMatterOfWhoEndedFirst(t *testing.T) {
	of := func(digest string, frames int) *misstepv1.Outcome {
		return &misstepv1.Outcome{RecipeDigest: digest, Crash: &misstepv1.Crash{JavaFrames: slices.Repeat([]string{"j"}, frames)}}
	}
	for _, hits := range [][]*misstepv1.Outcome{{of("b", 3), of("a", 3), of("0", 5)}, {of("0", 5), of("a", 3), of("b", 3)}} {
		assert.Equal(t, "a", slices.MinFunc(hits, shorter).GetRecipeDigest())
	}
}
