package jvm

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/recipe"
	verdicts "misstep/runner/judge"
	"misstep/runner/recording"
)

// A chunk that cannot be read on makes checks void once, by its first problem; jfr-chunks judges it and is void only for what was
// not read at all.
func TestProblemsOfARecording(t *testing.T) {
	var none reading
	require.NoError(t, none.visit(&recording.Chunk{}))
	require.NoError(t, none.finish(recording.Summary{Complete: true}, nil))
	require.Empty(t, none.void(recipe.JfrShadow))

	var some reading
	for _, p := range []recording.Problem{
		{Chunk: 0, Kind: recording.Layout},
		{Chunk: 2, Kind: recording.Parser},
		{Chunk: 3, Kind: recording.Limit},
		{Chunk: 4, Kind: recording.Unfinished},
		{Chunk: 4, Kind: recording.Layout}, // it is not finished
		{Chunk: 4, Kind: recording.Parser},
	} {
		require.NoError(t, some.visit(&p))
	}
	require.NoError(t, some.finish(recording.Summary{Complete: true}, nil))
	want := map[string]uint64{recipe.BrokenRecording: 2, recipe.ReadingLimit: 1, recipe.CutRecording: 1}
	require.Equal(t, want, some.void(recipe.ProfilerShadow))
	require.Empty(t, some.void(recipe.JfrChunks))

	require.NoError(t, some.finish(recording.Summary{}, nil))
	want[recipe.ReadingLimit]++
	require.Equal(t, want, some.void(recipe.Samplers))
	require.Equal(t, map[string]uint64{recipe.ReadingLimit: 1}, some.void(recipe.JfrChunks))
}

func TestEveryProblemHasAReason(t *testing.T) {
	for kind := recording.UnspecifiedProblem; kind <= recording.Parser; kind++ {
		require.NotEmpty(t, problemReasons[kind], kind)
	}
}

func TestEndsOfAReading(t *testing.T) {
	broken := errors.New("exit status 1")
	for name, c := range map[string]struct {
		chunks  int
		summary recording.Summary
		err     error
		ended   string
		fails   bool
	}{
		"whole":                {1, recording.Summary{Complete: true}, nil, "", false},
		"no chunk":             {0, recording.Summary{Complete: true}, nil, recipe.EmptyRecording, false},
		"much output":          {1, recording.Summary{}, nil, recipe.ReadingLimit, false},
		"much time":            {0, recording.Summary{}, fmt.Errorf("%w", context.DeadlineExceeded), recipe.ReadingLimit, false},
		"much memory":          {0, recording.Summary{}, recording.ErrMemory, recipe.ReadingLimit, false},
		"the helper ended":     {1, recording.Summary{}, errors.Join(recording.ErrNoEnd, broken), recipe.ReadingLimit, false},
		"the helper is no JVM": {0, recording.Summary{}, errors.Join(recording.ErrNoEnd, broken), "", true},
		"another helper":       {1, recording.Summary{}, broken, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			r := reading{chunks: c.chunks}
			err := r.finish(c.summary, c.err)
			require.Equal(t, c.fails, err != nil, err)
			require.Equal(t, c.ended, r.ended)
		})
	}
}

// counter counts its records and refuses one.
type counter struct {
	visited, refuses int
}

var errRefused = errors.New("no more")

func (c *counter) Visit(recording.Record) error {
	if c.visited++; c.visited == c.refuses {
		return errRefused
	}
	return nil
}

func (*counter) Verdicts() verdicts.Verdicts { return verdicts.Verdicts{} }

func TestWhatIsJudgedIsBounded(t *testing.T) {
	kept := &counter{}
	r := reading{list: []consumer{kept}}
	for range maxEvents {
		require.NoError(t, r.visit(&recording.Event{}))
	}
	err := r.visit(&recording.Event{})
	require.ErrorIs(t, err, errEnough)
	require.Equal(t, maxEvents, kept.visited)
	require.NoError(t, r.finish(recording.Summary{}, err))
	require.Equal(t, recipe.ReadingLimit, r.ended)
}

func TestAJudgeThatRefuses(t *testing.T) {
	r := reading{list: []consumer{&counter{refuses: 2}}}
	require.NoError(t, r.visit(&recording.Chunk{}))
	err := r.visit(&recording.Chunk{})
	require.ErrorIs(t, err, errRefused)
	require.ErrorIs(t, r.finish(recording.Summary{}, err), errRefused)
}
