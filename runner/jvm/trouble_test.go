package jvm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/recipe"
	"misstep/runner/recording"
)

// A chunk that cannot be read on makes checks void once, by its first problem; jfr-chunks judges it and is void only for what was
// not read at all.
func TestTroubleOfARecording(t *testing.T) {
	var none trouble
	require.Empty(t, none.of(recipe.JfrShadow))

	var some trouble
	for _, p := range []recording.Problem{
		{Chunk: 0, Kind: recording.Layout},
		{Chunk: 2, Kind: recording.Parser},
		{Chunk: 3, Kind: recording.Limit},
		{Chunk: 4, Kind: recording.Unfinished},
		{Chunk: 4, Kind: recording.Layout}, // it is not finished
		{Chunk: 4, Kind: recording.Parser},
	} {
		some.problem(&p)
	}
	want := map[string]uint64{recipe.BrokenRecording: 2, recipe.ReadingLimit: 1, recipe.CutRecording: 1}
	require.Equal(t, want, some.of(recipe.ProfilerShadow))
	require.Empty(t, some.of(recipe.JfrChunks))

	some.ended = recipe.ReadingLimit
	want[recipe.ReadingLimit]++
	require.Equal(t, want, some.of(recipe.Samplers))
	require.Equal(t, map[string]uint64{recipe.ReadingLimit: 1}, some.of(recipe.JfrChunks))
}

func TestEveryProblemHasAReason(t *testing.T) {
	for kind := recording.UnspecifiedProblem; kind <= recording.Parser; kind++ {
		require.NotEmpty(t, problemReasons[kind], kind)
	}
}
