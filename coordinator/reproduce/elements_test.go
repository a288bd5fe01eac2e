package reproduce

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	misstepv1 "misstep/proto/misstep/v1"
)

// An argument that was made 1 is left out together with what made it so, and the one that was meant.
func TestArgumentsAreLeftOut(t *testing.T) {
	recipe := &misstepv1.Recipe{Workload: &misstepv1.Workload{Repetitions: 1, Arguments: []string{"1", "x", "6", "20"}}}
	list := Elements(recipe, nil, &misstepv1.Signature{})
	without := func(names ...string) []string {
		return list.Without(recipe, func(i int) bool { return slices.Contains(names, list[i].name) }).GetWorkload().GetArguments()
	}
	assert.Equal(t, []string{"1", "x", "1", "20"}, without("6 to 1"))
	assert.Equal(t, []string{"1", "x", "20"}, without("6 to 1", "6"))
	assert.Equal(t, []string{"1", "1"}, without("x", "6 to 1", "20"))
	assert.Equal(t, []string{"1", "x", "1"}, without("6 to 1", "20 to 1", "20"))
	assert.Empty(t, without("1", "x", "6 to 1", "6", "20 to 1", "20"))
}
