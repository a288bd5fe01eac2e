package campaign

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	misstepv1 "misstep/proto/misstep/v1"
)

// The text that a bundle has of a recipe is read as that recipe.
func TestParseRecipeReadsTheCanonicalText(t *testing.T) {
	want := &misstepv1.Recipe{
		Jdk:             &misstepv1.Jdk{Name: "jdk17", Version: `OpenJDK "17"`},
		Workload:        &misstepv1.Workload{Name: "w", Arguments: []string{"4", "true", ""}, Repetitions: 2},
		JvmFlags:        []string{"-Xcomp"},
		Instrumentation: &misstepv1.Instrumentation{Ratio: 1e-7, Only: []string{"A.b()V"}},
		Sampling:        &misstepv1.Sampling{Interval: durationpb.New(1500 * time.Microsecond)},
		Checks:          []*misstepv1.Check{{Name: "gst-asgct", Share: 0.5}},
		Perturbation:    &misstepv1.Perturbation{Strategy: "chaos", Parameters: map[string]float64{"probability": 0.25}},
		Limits:          &misstepv1.Limits{MemoryMib: 512},
		Seed:            1<<64 - 1,
	}
	text, err := misstepv1.CanonicalRecipe(want)
	require.NoError(t, err)
	got, err := ParseRecipe(text, "recipe.yaml")
	require.NoError(t, err)
	assert.True(t, proto.Equal(want, got), "%s\n%v", text, got)
}

// A mistake reads alike in a recipe and in a campaign.
func TestRecipesAndCampaignsHaveTheSameMessages(t *testing.T) {
	for file, want := range map[string]string{
		"chekcs: []\n":                 "x.yaml:1: chekcs: unknown field, did you mean checks? (fields here: ",
		"checks:\n- nam: gst-asgct\n":  "x.yaml:2: checks[0].nam: unknown field, did you mean name? (fields here: name, ",
		"checks: 3\n":                  "x.yaml:1: checks: expected a list, got \"3\"",
		"seed: -1\n":                   "x.yaml:1: seed: expected a non-negative integer, got \"-1\"",
		"limits: {wall: soon}\n":       "x.yaml:1: limits.wall: expected a duration such as 1ms, 90s or 2h30m, got \"soon\"",
		"checks: [{name: gst-asgct}\n": "x.yaml:1: invalid YAML",
		"checks:\n\t- name: x\n":       "(a tab? YAML is indented by spaces only)",
	} {
		_, err := ParseRecipe([]byte(file), "x.yaml")
		require.ErrorContains(t, err, want, file)
		_, err = Load([]byte(file), "x.yaml")
		require.ErrorContains(t, err, want, file)
	}
	for kind, parse := range map[string]func() error{
		"recipe":   func() error { _, err := ParseRecipe(nil, "x.yaml"); return err },
		"campaign": func() error { _, err := Load(nil, "x.yaml"); return err },
	} {
		require.ErrorContains(t, parse(), "the file is empty: expected the fields of a "+kind)
	}
}
