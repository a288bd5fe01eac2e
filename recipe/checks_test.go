package recipe_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

func names(words []recipe.Word) (out []string) {
	for _, w := range words {
		out = append(out, w.Name)
	}
	return out
}

// The table is whole: slots are those of the status file, and every word of a verdict is explained and is some check's.
func TestTheTableOfChecks(t *testing.T) {
	words := recipe.Words()
	used := map[string]bool{}
	for i, c := range recipe.Checks() {
		if i < recipe.StatusSlots {
			require.Equal(t, i, c.Slot, c.Name)
		} else {
			require.Equal(t, recipe.NoSlot, c.Slot, c.Name)
		}
		for what, text := range map[string]string{
			"meaning": c.Meaning, "source": c.Source, "suspect": c.Suspect, "trusted": c.Trusted, "at": c.At,
			"expected": c.Expected, "share of": c.ShareOf,
		} {
			assert.NotEmpty(t, text, "%s: %s", c.Name, what)
		}
		assert.True(t, c.Share > 0 && c.Share <= 1, c.Name)
		for _, list := range []struct {
			of    string
			words []recipe.Word
			names []string
		}{{"rule", words.Rules, c.Rules}, {"reason", words.Reasons, c.Reasons}, {"kind", words.Kinds, c.Kinds}} {
			for _, name := range list.names {
				assert.Contains(t, names(list.words), name, "%s of %s", list.of, c.Name)
				used[list.of+" "+name] = true
			}
		}
		found, ok := recipe.FindCheck(c.Name)
		assert.True(t, ok && found.Name == c.Name)
	}
	require.GreaterOrEqual(t, len(recipe.Checks()), recipe.StatusSlots)
	for of, list := range map[string][]recipe.Word{"rule": words.Rules, "reason": words.Reasons, "kind": words.Kinds} {
		for _, w := range list {
			assert.True(t, used[of+" "+w.Name], "no check has the %s %s", of, w.Name)
			assert.NotEmpty(t, w.Meaning+w.Source, w.Name)
		}
	}
	_, ok := recipe.FindCheck("nonsense")
	assert.False(t, ok)
}

func TestDefaultsOfLimits(t *testing.T) {
	written, effective := recipe.WrittenLimits(nil), recipe.EffectiveLimits(&misstepv1.Limits{DiskMib: 7})
	assert.EqualValues(t, 0, written.GetMismatches(), "recipes from before the limit keep their digests")
	assert.EqualValues(t, recipe.DefaultMismatches, effective.GetMismatches())
	assert.EqualValues(t, 7, effective.GetDiskMib())
	assert.EqualValues(t, recipe.DefaultStackDepth, written.GetStackDepth())
	assert.Equal(t, recipe.DefaultWall, recipe.Wall(&misstepv1.Recipe{}))
}

// Whatever fits a recipe makes it one that can be run, and says all that it does.
func TestFittingChecks(t *testing.T) {
	for _, r := range []*misstepv1.Recipe{
		{},
		{Sampling: recipe.DefaultSampling()},
		{Instrumentation: &misstepv1.Instrumentation{}},
		{Sampling: recipe.DefaultSampling(), Instrumentation: &misstepv1.Instrumentation{}},
		{Sampling: recipe.DefaultSampling(), Instrumentation: &misstepv1.Instrumentation{Only: []string{"a/B.c()V"}}},
	} {
		r.Checks = recipe.FittingChecks(r)
		recipe.DropUnused(r)
		assert.True(t, recipe.HasCheck(r, recipe.Liveness))
		assert.True(t, recipe.Runnable(r), r)
		assert.Empty(t, recipe.Validate(r), r)
	}
}

// A reason, rule or kind is listed once in each check.
func TestWordsOfAVerdictAreListedOnce(t *testing.T) {
	for _, c := range recipe.Checks() {
		for _, list := range [][]string{c.Rules, c.Reasons, c.Kinds} {
			sorted := slices.Sorted(slices.Values(list))
			assert.Len(t, slices.Compact(sorted), len(list), c.Name)
		}
	}
}
