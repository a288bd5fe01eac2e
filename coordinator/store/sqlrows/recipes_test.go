package sqlrows

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"google.golang.org/protobuf/proto"

	"misstep/internal/testenv/filled"
	misstepv1 "misstep/proto/misstep/v1"
)

// A recipe's template and what is its own are the whole recipe, whatever fields recipes have.
func TestSplitRecipesLackNothing(t *testing.T) {
	r := filled.Message(&misstepv1.Recipe{})
	template, own := splitRecipe(r)
	assert.Zero(t, template.GetSeed())
	assert.Nil(t, template.GetPerturbation())
	whole := share(template)
	whole.Seed, whole.Perturbation = own.GetSeed(), own.GetPerturbation()
	assert.True(t, proto.Equal(r, whole), "%v", whole)
}
