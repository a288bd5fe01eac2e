package remote_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/corpus"
	"misstep/corpus/chunk"
	"misstep/corpus/corpustest"
	"misstep/corpus/memory"
	"misstep/corpus/remote"
	"misstep/corpus/tree"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
)

// counting counts the bytes that are read through a client, and can damage ranges.
type counting struct {
	corpus.Store
	whole, parts int64
	ranges       int
	damage       bool
}

func (c *counting) Open(ctx context.Context, d corpus.Digest) (io.ReadCloser, int64, error) {
	r, size, err := c.Store.Open(ctx, d)
	c.whole += size
	return r, size, err
}

func (c *counting) Chunks(ctx context.Context, d corpus.Digest) ([]chunk.Chunk, error) {
	return c.Store.(tree.Ranger).Chunks(ctx, d)
}

func (c *counting) OpenRange(ctx context.Context, d corpus.Digest, offset, length int64) (io.ReadCloser, error) {
	c.parts += length
	c.ranges++
	if c.damage {
		return io.NopCloser(bytes.NewReader(make([]byte, length))), nil
	}
	return c.Store.(tree.Ranger).OpenRange(ctx, d, offset, length)
}

// build stores a tree with one large file.
func build(t *testing.T, store corpus.Store, content []byte) tree.Manifest {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "lib"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "lib", "modules"), content, 0o644))
	m, err := tree.Scan(dir)
	require.NoError(t, err)
	require.NoError(t, tree.Push(t.Context(), store, dir, m))
	return m
}

// TestBuildsThatAreAlike fetches a build, then one whose large file differs at the start, has bytes inserted in its midst, and
// others at its end: only what differs is fetched, through the server and from a bucket.
func TestBuildsThatAreAlike(t *testing.T) {
	old := corpustest.Blob(1, 8<<20)
	young := bytes.Clone(old)
	copy(young, "another version")
	young = append(append(bytes.Clone(young[:4<<20]), corpustest.Blob(2, 1000)...), young[4<<20:]...)
	young = append(young, corpustest.Blob(3, 300_000)...)
	try := func(t *testing.T, store corpus.Store, client corpus.Store) {
		first, second := build(t, store, old), build(t, store, young)
		for _, damage := range []bool{false, true} {
			c := &counting{Store: client, damage: damage}
			cache := tree.Cache{Dir: t.TempDir()}
			_, err := cache.Get(t.Context(), c, first.Digest())
			require.NoError(t, err)
			require.Zero(t, c.ranges)
			c.whole = 0
			dir, err := cache.Get(t.Context(), c, second.Digest())
			require.NoError(t, err)
			got, err := os.ReadFile(filepath.Join(dir, "lib", "modules"))
			require.NoError(t, err)
			require.True(t, bytes.Equal(young, got))
			if damage {
				assert.Greater(t, c.whole, int64(len(young)), "it is fetched as a whole")
				continue
			}
			t.Logf("%d bytes in %d ranges, and the manifest", c.parts, c.ranges)
			assert.Less(t, c.whole, int64(1000), "the manifest only")
			assert.LessOrEqual(t, c.ranges, 3)
			assert.Less(t, c.parts, int64(1_500_000), "of 8.7 MB")
		}
	}
	t.Run("through the server", func(t *testing.T) {
		store := memory.New()
		try(t, store, remote.Client(serve(t, remote.NewServer(store))))
	})
	t.Run("from a bucket", func(t *testing.T) {
		store := bucket(t, testenv.StartS3(t), "alike")
		try(t, store, remote.Client(serve(t, remote.NewServer(store, remote.Signing(store)))))
	})
}

func TestRanges(t *testing.T) {
	data := corpustest.Blob(5, 3<<20)
	store := memory.New()
	d, _, err := store.Put(t.Context(), bytes.NewReader(data), corpus.Digest{})
	require.NoError(t, err)
	connection := serve(t, remote.NewServer(store))
	client := remote.Client(connection).(tree.Ranger)
	for _, r := range [][2]int64{{0, 10}, {5, 2 << 20}, {3<<20 - 1, 1}, {3 << 20, 0}} {
		from, err := client.OpenRange(t.Context(), d, r[0], r[1])
		require.NoError(t, err)
		got, err := io.ReadAll(from)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(data[r[0]:r[0]+r[1]], got), "%v", r)
		require.NoError(t, from.Close())
	}
	stream, err := misstepv1.NewCorpusServiceClient(connection).Read(t.Context(),
		&misstepv1.ReadRequest{Digest: d.String(), Offset: 3 << 20, Length: 1})
	require.NoError(t, err)
	_, err = stream.Recv()
	assert.Equal(t, codes.OutOfRange, status.Code(err))
	_, err = client.Chunks(t.Context(), corpus.DigestBytes([]byte("absent")))
	require.ErrorIs(t, err, corpus.ErrNotFound)
	chunks, err := client.Chunks(t.Context(), d)
	require.NoError(t, err)
	sum := int64(0)
	for _, c := range chunks {
		assert.Equal(t, corpus.DigestBytes(data[sum:sum+c.Size]), c.Digest)
		sum += c.Size
	}
	assert.Equal(t, int64(len(data)), sum)
}
