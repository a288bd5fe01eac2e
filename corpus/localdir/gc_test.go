package localdir_test

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/corpus"
	"misstep/corpus/corpustest"
)

func put(t *testing.T, s corpus.Store, seed int) corpus.Digest {
	t.Helper()
	d, _, err := s.Put(t.Context(), bytes.NewReader(corpustest.Blob(seed, 100)), corpus.Digest{})
	require.NoError(t, err)
	return d
}

func age(t *testing.T, dir string, d corpus.Digest, by time.Duration) {
	t.Helper()
	then := time.Now().Add(-by)
	require.NoError(t, os.Chtimes(filepath.Join(dir, d.Hex()[:2], d.Hex()), then, then))
}

func TestSweep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a [folder]*")
	s := open(t, dir)
	kept, old, young, asked := put(t, s, 1), put(t, s, 2), put(t, s, 3), put(t, s, 4)
	for _, d := range []corpus.Digest{kept, old, asked} {
		age(t, dir, d, 48*time.Hour)
	}
	missing, err := s.Missing(t.Context(), []corpus.Digest{asked})
	require.NoError(t, err)
	assert.Empty(t, missing)
	require.NoError(t, os.WriteFile(filepath.Join(dir, old.Hex()[:2], "notes"), []byte("not a blob"), 0o600))
	keep := func(d corpus.Digest) bool { return d == kept }
	before := time.Now().Add(-24 * time.Hour)

	for range 2 { // a dry run changes nothing
		swept, err := s.Sweep(t.Context(), keep, before, false)
		require.NoError(t, err)
		assert.Equal(t, corpus.Swept{Kept: 1, Spared: 2, Removed: 1, Bytes: 100}, swept)
	}
	swept, err := s.Sweep(t.Context(), keep, before, true)
	require.NoError(t, err)
	assert.Equal(t, 1, swept.Removed)
	missing, err = s.Missing(t.Context(), []corpus.Digest{kept, old, young, asked})
	require.NoError(t, err)
	assert.Equal(t, []corpus.Digest{old}, missing)
	assert.FileExists(t, filepath.Join(dir, old.Hex()[:2], "notes"))
}

// TestSweepBesideWriters sweeps all the time while others are told that old blobs are there, or put them again: whoever was told so
// finds the blob afterwards.
func TestSweepBesideWriters(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	stop := make(chan struct{})
	var sweeper sync.WaitGroup
	sweeper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_, err := s.Sweep(t.Context(), func(corpus.Digest) bool { return false }, time.Now().Add(-24*time.Hour), true)
				assert.NoError(t, err)
			}
		}
	})
	told, removed := 0, 0
	for round := range 100 {
		d := put(t, s, round)
		then := time.Now().Add(-48 * time.Hour)
		// The sweep may come at any moment from here on.
		_ = os.Chtimes(filepath.Join(dir, d.Hex()[:2], d.Hex()), then, then)
		missing, err := s.Missing(t.Context(), []corpus.Digest{d})
		require.NoError(t, err)
		if len(missing) > 0 {
			removed++
			d = put(t, s, round)
		} else {
			told++
		}
		time.Sleep(100 * time.Microsecond) // gives the sweep a chance to do wrong
		_, err = corpus.ReadAll(t.Context(), s, d, 1000)
		require.NoError(t, err)
	}
	close(stop)
	sweeper.Wait()
	t.Logf("%d were there, %d had been removed", told, removed)
	assert.Positive(t, told)
}
