package remote_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/corpus"
	"misstep/corpus/index"
	"misstep/corpus/memory"
	"misstep/corpus/remote"
)

// TestPages has more entries than a page of the protocol holds.
func TestPages(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "index"), 0o755))
	for i := range 2500 {
		e := index.Entry{
			Finding: "F1",
			Bundle:  index.Blob{Digest: corpus.DigestBytes([]byte{byte(i), byte(i >> 8)}), Size: int64(i)},
		}
		require.NoError(
			t,
			os.WriteFile(filepath.Join(dir, "index", e.Digest().Hex()), e.Text(), 0o600),
		) // 2,500 fsyncs would take long
	}
	connection := serve(t, remote.NewServer(memory.New(), remote.Shared(index.Folder(dir), nil)))
	entries, err := remote.Index(connection).Entries(t.Context())
	require.NoError(t, err)
	seen := map[corpus.Digest]bool{}
	for _, e := range entries {
		seen[e.Digest()] = true
	}
	assert.Len(t, entries, 2500)
	assert.Len(t, seen, 2500)
}

// TestAdmit adds an entry that the server's owner admits, one that it refuses, and one of which it cannot tell.
func TestAdmit(t *testing.T) {
	here := index.Folder(t.TempDir())
	blobs := memory.New()
	broken := errors.New("disk on fire")
	admit := func(_ context.Context, source corpus.Source, e index.Entry) error {
		assert.Same(t, blobs, source)
		switch e.Finding {
		case "F2":
			return &index.RefusedError{Err: errors.New("not signed")}
		case "F3":
			return broken
		}
		return nil
	}
	there := remote.Index(serve(t, remote.NewServer(blobs, remote.Shared(here, admit))))
	entry := func(finding string) index.Entry {
		return index.Entry{Finding: finding, Bundle: index.Blob{Digest: corpus.DigestBytes([]byte(finding)), Size: 2}}
	}
	require.NoError(t, there.Add(t.Context(), entry("F1")))
	var refused *index.RefusedError
	err := there.Add(t.Context(), entry("F2"))
	require.ErrorAs(t, err, &refused)
	require.ErrorContains(t, err, "not signed")
	err = there.Add(t.Context(), entry("F3"))
	require.ErrorContains(t, err, "disk on fire")
	require.NotErrorAs(t, err, &refused)
	entries, err := here.Entries(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []index.Entry{entry("F1")}, entries)
}

func TestAServerWithoutAnIndex(t *testing.T) {
	_, err := remote.Index(serve(t, remote.NewServer(memory.New()))).Entries(t.Context())
	assert.Equal(t, codes.Unimplemented, status.Code(err))
}
