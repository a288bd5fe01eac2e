package blob_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/corpus"
	"misstep/corpus/corpustest"
	"misstep/internal/testenv"
)

// TestSweep has blobs that are needed and others; what was trashed although a writer counts on it returns.
func TestSweep(t *testing.T) {
	s := testenv.StartS3(t)
	for _, prefix := range []string{"", "a/b"} {
		store := open(t, s, prefix)
		put := func(text string) corpus.Digest {
			d, _, err := store.Put(t.Context(), strings.NewReader(text), corpus.Digest{})
			require.NoError(t, err)
			return d
		}
		needed, garbage, raced := put("needed"), put("garbage"), put("raced")
		require.NoError(t, store.WriteName(t.Context(), "index/"+needed.Hex(), []byte("an entry")))
		keep := map[corpus.Digest]bool{needed: true}
		sweep := func(before time.Time, remove bool) corpus.Swept {
			swept, err := store.Sweep(t.Context(), func(d corpus.Digest) bool { return keep[d] }, before, remove)
			require.NoError(t, err)
			return swept
		}
		past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		there := func(d corpus.Digest) bool {
			missing, err := store.Missing(t.Context(), []corpus.Digest{d})
			require.NoError(t, err)
			return len(missing) == 0
		}
		assert.Equal(t, corpus.Swept{Kept: 1, Removed: 2, Bytes: 12}, sweep(future, false))
		assert.True(t, there(garbage), "a dry run removes nothing")
		assert.Equal(t, corpus.Swept{Kept: 1, Spared: 2}, sweep(past, true), "all are young")
		assert.True(t, there(garbage))

		assert.Equal(t, corpus.Swept{Kept: 1, Removed: 2, Bytes: 12}, sweep(future, true))
		assert.True(t, there(needed))
		assert.False(t, there(garbage))
		assert.False(t, there(raced))

		// Somebody who was told that it is there has referred to it since.
		keep[raced] = true
		assert.Equal(t, corpus.Swept{Kept: 2}, sweep(past, true))
		assert.True(t, there(raced))
		got, err := corpus.ReadAll(t.Context(), store, garbage, 100)
		require.NoError(t, err, "what is in the trash can still be read, and returns")
		assert.Equal(t, "garbage", string(got))
		assert.True(t, there(garbage))
		_, err = store.SignRead(t.Context(), garbage)
		require.NoError(t, err)

		sweep(future, true) // to the trash
		sweep(future, true) // for good
		_, _, err = store.Open(t.Context(), garbage)
		require.ErrorIs(t, err, corpus.ErrNotFound)
		_, err = store.SignRead(t.Context(), garbage)
		require.ErrorIs(t, err, corpus.ErrNotFound)
		assert.True(t, there(raced))
		assert.True(t, there(needed))
		names, err := store.List(t.Context(), "index")
		require.NoError(t, err)
		assert.Equal(t, []string{needed.Hex()}, names)
	}
}

// TestSweepInPages has more blobs than a page of a listing.
func TestSweepInPages(t *testing.T) {
	store := open(t, testenv.StartS3(t), "")
	const n = 1100
	digests := make(map[corpus.Digest]bool, n)
	for i := range n {
		d, _, err := store.Put(t.Context(), strings.NewReader(string(corpustest.Blob(i, 8))), corpus.Digest{})
		require.NoError(t, err)
		digests[d] = i%2 == 0
	}
	swept, err := store.Sweep(t.Context(), func(d corpus.Digest) bool { return digests[d] }, time.Now().Add(time.Hour), true)
	require.NoError(t, err)
	assert.Equal(t, corpus.Swept{Kept: n / 2, Removed: n / 2, Bytes: n / 2 * 8}, swept)
}
