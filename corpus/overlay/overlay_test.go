package overlay_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/corpus"
	"misstep/corpus/corpustest"
	"misstep/corpus/memory"
	"misstep/corpus/overlay"
)

func TestStore(t *testing.T) {
	corpustest.TestStore(t, func(*testing.T) corpus.Store { return overlay.New(memory.New(), memory.New()) })
}

func TestSourcesAreServedAndNeverWritten(t *testing.T) {
	writable, below := memory.New(), memory.New()
	store := overlay.New(writable, below)
	old, _, err := below.Put(t.Context(), bytes.NewReader([]byte("old")), corpus.Digest{})
	require.NoError(t, err)
	fresh, _, err := store.Put(t.Context(), bytes.NewReader([]byte("fresh")), corpus.Digest{})
	require.NoError(t, err)

	got, err := corpus.ReadAll(t.Context(), store, old, 10)
	require.NoError(t, err)
	assert.Equal(t, "old", string(got))
	missing, err := store.Missing(t.Context(), []corpus.Digest{old, fresh})
	require.NoError(t, err)
	assert.Empty(t, missing)
	missing, err = below.Missing(t.Context(), []corpus.Digest{fresh})
	require.NoError(t, err)
	assert.Equal(t, []corpus.Digest{fresh}, missing)
}

type brokenSource struct{ err error }

func (b brokenSource) Missing(context.Context, []corpus.Digest) ([]corpus.Digest, error) {
	return nil, b.err
}

func (b brokenSource) Open(context.Context, corpus.Digest) (io.ReadCloser, int64, error) {
	return nil, 0, b.err
}

func TestABrokenSourceIsSaidNotSkipped(t *testing.T) {
	broken := brokenSource{errors.New("disk on fire")}
	store := overlay.New(memory.New(), broken, memory.New())
	_, _, err := store.Open(t.Context(), corpus.DigestBytes([]byte("x")))
	require.ErrorIs(t, err, broken.err)
	_, err = store.Missing(t.Context(), []corpus.Digest{corpus.DigestBytes([]byte("x"))})
	require.ErrorIs(t, err, broken.err)
}
