package tree_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"misstep/corpus"
	"misstep/corpus/corpustest"
	"misstep/corpus/memory"
	"misstep/corpus/tree"
)

// shaky is a source that counts what is opened, and whose blob number breakAt breaks off.
type shaky struct {
	corpus.Store
	opened  atomic.Int64
	breakAt int64
}

var errBroken = errors.New("broken link")

func (l *shaky) Open(ctx context.Context, d corpus.Digest) (io.ReadCloser, int64, error) {
	r, size, err := l.Store.Open(ctx, d)
	if err == nil && l.opened.Add(1) == l.breakAt {
		return struct {
			io.Reader
			io.Closer
		}{io.MultiReader(io.LimitReader(r, size/2), iotest.ErrReader(errBroken)), r}, size, nil
	}
	return r, size, err
}

// pushed stores a tree of files with contents by number.
func pushed(t *testing.T, store corpus.Store, contents map[string]int) tree.Manifest {
	t.Helper()
	dir := t.TempDir()
	for name, n := range contents {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), corpustest.Blob(n, 100_000+n), 0o755))
	}
	require.NoError(t, os.Symlink("a", filepath.Join(dir, "link")))
	m, err := tree.Scan(dir)
	require.NoError(t, err)
	require.NoError(t, tree.Push(t.Context(), store, dir, m))
	return m
}

func assertTree(t *testing.T, m tree.Manifest, dir string) {
	t.Helper()
	got, err := tree.Scan(dir)
	require.NoError(t, err)
	assert.Equal(t, m.Digest(), got.Digest())
}

func TestCacheFetchesOnceForAllProcesses(t *testing.T) {
	source := &shaky{Store: memory.New()}
	m := pushed(t, source, map[string]int{"a": 1, "b/c": 2})
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { // each has a cache of its own, as a process has
			got, err := tree.Cache{Dir: dir}.Get(t.Context(), source, m.Digest())
			if !assert.NoError(t, err) { //nolint:testifylint // in a goroutine of its own
				return
			}
			assert.Equal(t, filepath.Join(dir, m.Digest().Hex()), got)
		})
	}
	all.Wait()
	assert.Equal(t, int64(3), source.opened.Load(), "the manifest and two files")
	assertTree(t, m, filepath.Join(dir, m.Digest().Hex()))
}

func TestCacheGoesOnWhereAFetchWasInterrupted(t *testing.T) {
	source := &shaky{Store: memory.New(), breakAt: 6}
	contents := map[string]int{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f/g": 6}
	m := pushed(t, source, contents)
	cache := tree.Cache{Dir: t.TempDir()}
	_, err := cache.Get(t.Context(), source, m.Digest())
	require.ErrorIs(t, err, errBroken)
	dir := filepath.Join(cache.Dir, m.Digest().Hex())
	require.NoDirExists(t, dir, "half a tree is not visible")
	before := source.opened.Load()
	whole := 0
	for name, n := range contents {
		if info, err := os.Stat(filepath.Join(dir+".part", name)); err == nil && info.Size() == int64(100_000+n) {
			whole++
		}
	}
	require.GreaterOrEqual(t, whole, 1)
	// One of the files that look whole is not.
	for name, n := range contents {
		path := filepath.Join(dir+".part", name)
		if info, err := os.Stat(path); err == nil && info.Size() == int64(100_000+n) {
			require.NoError(t, os.Chmod(path, 0o644))
			require.NoError(t, os.WriteFile(path, make([]byte, 100_000+n), 0o644))
			break
		}
	}
	got, err := cache.Get(t.Context(), source, m.Digest())
	require.NoError(t, err)
	assertTree(t, m, got)
	assert.Equal(t, int64(1+len(contents)-whole+1), source.opened.Load()-before, "manifest, what was lacking, and the damaged one")
	assert.NoDirExists(t, dir+".part")
}

func TestCacheTakesFilesOfATreeThatIsAlike(t *testing.T) {
	source := &shaky{Store: memory.New()}
	first := pushed(t, source, map[string]int{"a": 1, "b": 2, "c": 3, "lib/d": 4})
	second := pushed(t, source, map[string]int{"a": 1, "b": 2, "c": 33, "moved/d": 4})
	cache := tree.Cache{Dir: t.TempDir()}
	dir, err := cache.Get(t.Context(), source, first.Digest())
	require.NoError(t, err)
	// One of its files has been damaged since: it is fetched once more.
	require.NoError(t, os.Chmod(filepath.Join(dir, "b"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b"), []byte("damaged"), 0o644))
	before := source.opened.Load()
	got, err := cache.Get(t.Context(), source, second.Digest())
	require.NoError(t, err)
	assertTree(t, second, got)
	assert.Equal(t, int64(3), source.opened.Load()-before, "the manifest, what differs, and the damaged file")
	a, err := os.Stat(filepath.Join(dir, "a"))
	require.NoError(t, err)
	b, err := os.Stat(filepath.Join(got, "a"))
	require.NoError(t, err)
	assert.False(t, os.SameFile(a, b), "a program that is patched in one tree stays as it is in the other")
}

// TestCacheWaitsForAnotherProcess has a lock that another process holds, and one who does not wait for ever.
func TestCacheWaitsForAnotherProcess(t *testing.T) {
	source := memory.New()
	m := pushed(t, source, map[string]int{"a": 1})
	cache := tree.Cache{Dir: t.TempDir()}
	file, err := os.Create(filepath.Join(cache.Dir, m.Digest().Hex()+".lock"))
	require.NoError(t, err)
	require.NoError(t, unix.Flock(int(file.Fd()), unix.LOCK_EX))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = cache.Get(ctx, source, m.Digest())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	done := make(chan error, 1)
	go func() {
		_, err := cache.Get(t.Context(), source, m.Digest())
		done <- err
	}()
	require.NoError(t, file.Close()) // it has died
	require.NoError(t, <-done)
}

func TestCacheOfAnAbsentTree(t *testing.T) {
	cache := tree.Cache{Dir: filepath.Join(t.TempDir(), "new")}
	_, err := cache.Get(t.Context(), memory.New(), corpus.DigestBytes([]byte("absent")))
	require.ErrorIs(t, err, corpus.ErrNotFound)
	left, err := fs.Glob(os.DirFS(cache.Dir), "*.part")
	require.NoError(t, err)
	assert.Empty(t, left)
}
