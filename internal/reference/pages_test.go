package reference

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/recipe"
)

const root = "../.."

func schema(t *testing.T) *Schema {
	s, err := Load(root + "/proto/misstep/v1")
	require.NoError(t, err)
	return s
}

func TestReferenceOfCampaigns(t *testing.T) {
	messages, enums, err := schema(t).Reachable("Campaign")
	require.NoError(t, err)
	intro := "A campaign is a YAML file. Field names are written as here or in camelCase; durations as in Go (`1ms`, " +
		"`90s`, `1h30m`). An error is reported with its line, the field and what was expected. `campaigns/` holds examples, and " +
		"[the tutorial](../tutorial.md) starts from one."
	Hold(t, root, "campaign.md",
		Generated+"# Campaign fields\n\n"+Paragraph(intro)+"\n"+Page(YAML, messages, enums, nil)+LimitDefaults())
}

func TestReferenceOfFleets(t *testing.T) {
	messages, enums, err := schema(t).Reachable("Fleet")
	require.NoError(t, err)
	intro := "A fleet file is YAML: the coordinators and runners that `misstep fleet` runs on a Nomad cluster. An error is reported " +
		"with its line, the field and what was expected. [How to](../howto/fleet.md) starts from an example."
	Hold(t, root, "fleet.md", Generated+"# Fleet fields\n\n"+Paragraph(intro)+"\n"+Page(YAML, messages, enums, nil))
}

func TestReferenceOfRecipes(t *testing.T) {
	messages, enums, err := schema(t).Reachable("Recipe")
	require.NoError(t, err)
	intro := "A recipe is everything needed to repeat one run: one combination of a campaign's dimensions, with one seed. " +
		"`misstep run RECIPE.yaml` runs one, and each bundle has the recipe of its finding as `recipe.yaml`. The digest of its " +
		"canonical text is its identity."
	Hold(t, root, "recipe.md",
		Generated+"# Recipe fields\n\n"+Paragraph(intro)+"\n"+Page(YAML, messages, enums, nil)+LimitDefaults())
}

func TestReferenceOfChecks(t *testing.T) {
	Hold(t, root, "checks.md", Checks(recipe.Words()))
}

func TestSchemaHasCommentsTypesAndOneofs(t *testing.T) {
	s := schema(t)
	recipe := s.Messages["Recipe"]
	require.Contains(t, recipe.Doc, "everything needed to repeat one run")
	require.Equal(t, "jvm_flags", recipe.Fields[2].Name)
	require.Equal(t, "[]string", recipe.Fields[2].Type)
	require.NotEmpty(t, recipe.Fields[2].Doc)
	for name, m := range s.Messages {
		for _, f := range m.Fields {
			require.False(t, strings.HasPrefix(f.Name, "oneof "), "%s.%s", name, f.Name)
			require.NotContains(t, f.Type, "?", "%s.%s", name, f.Name)
		}
	}
	require.Equal(t, "STRATEGY_ROUND_ROBIN", s.Enums["Strategy"].Values[1].Name)
	_, _, err := s.Reachable("Nothing")
	require.ErrorContains(t, err, "no message or enum Nothing")
}

func TestCellsAndParagraphs(t *testing.T) {
	require.Equal(t, `a \| &lt;b>`, Cell("a | <b>"))
	for line := range strings.Lines(Paragraph(strings.Repeat("ünïcode ", 100))) {
		require.LessOrEqual(t, len([]rune(line)), 133)
	}
}
