package tree_test

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"misstep/corpus"
	"misstep/corpus/memory"
	"misstep/corpus/tree"
)

// sample makes a folder with each kind of entry.
func sample(t *testing.T) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "sample")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "bin"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "lib", "empty folder"), 0o755))
	write(t, filepath.Join(root, "bin", "java"), "#!/bin/sh\n", 0o755)
	write(t, filepath.Join(root, "release"), "JAVA_VERSION=\"17\"\n", 0o644)
	write(t, filepath.Join(root, "lib", "twin"), "JAVA_VERSION=\"17\"\n", 0o600)
	write(t, filepath.Join(root, "lib", "nothing"), "", 0o644)
	require.NoError(t, os.Symlink("../release", filepath.Join(root, "lib", "release")))
	return root
}

func write(t *testing.T, name, text string, mode fs.FileMode) {
	t.Helper()
	require.NoError(t, os.WriteFile(name, []byte(text), mode))
}

func scan(t *testing.T, dir string, options ...tree.Option) tree.Manifest {
	t.Helper()
	m, err := tree.Scan(dir, options...)
	require.NoError(t, err)
	return m
}

func TestPushThenFetchGivesTheSameTree(t *testing.T) {
	root := sample(t)
	m := scan(t, root)
	store := memory.New()
	require.NoError(t, tree.Push(t.Context(), store, root, m))
	require.NoError(t, tree.Push(t.Context(), store, root, m), "once more is harmless")
	dst := filepath.Join(t.TempDir(), "new", "copy")
	require.NoError(t, tree.Fetch(t.Context(), store, m.Digest(), dst))
	assert.Equal(t, m.Digest(), scan(t, dst).Digest())
	info, err := os.Stat(filepath.Join(dst, "bin", "java"))
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o555), info.Mode())
	target, err := os.Readlink(filepath.Join(dst, "lib", "release"))
	require.NoError(t, err)
	assert.Equal(t, "../release", target)
	siblings, err := os.ReadDir(filepath.Dir(dst))
	require.NoError(t, err)
	assert.Len(t, siblings, 1, "nothing temporary is left")

	err = tree.Fetch(t.Context(), store, m.Digest(), dst)
	require.ErrorIs(t, err, fs.ErrExist)
}

func TestSourceServesWithoutACopy(t *testing.T) {
	root := sample(t)
	m := scan(t, root)
	source := tree.Source(root, m)
	dst := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, tree.Fetch(t.Context(), source, m.Digest(), dst))
	assert.Equal(t, m.Digest(), scan(t, dst).Digest())

	absent := corpus.DigestBytes([]byte("absent"))
	release, _ := m.Lookup("release")
	missing, err := source.Missing(t.Context(), []corpus.Digest{absent, m.Digest(), release.Digest})
	require.NoError(t, err)
	assert.Equal(t, []corpus.Digest{absent}, missing)
	_, _, err = source.Open(t.Context(), absent)
	require.ErrorIs(t, err, corpus.ErrNotFound)
}

func TestAFileThatChangedAfterTheScanIsNoticed(t *testing.T) {
	root := sample(t)
	m := scan(t, root)
	write(t, filepath.Join(root, "release"), "JAVA_VERSION=\"18\"\n", 0o644)
	write(t, filepath.Join(root, "lib", "twin"), "JAVA_VERSION=\"18\"\n", 0o644)
	store := memory.New()
	var mismatch *corpus.MismatchError
	err := tree.Push(t.Context(), store, root, m)
	require.ErrorAs(t, err, &mismatch)
	require.ErrorContains(t, err, "has changed since")
	missing, err := store.Missing(t.Context(), []corpus.Digest{m.Digest()})
	require.NoError(t, err)
	assert.Len(t, missing, 1, "no manifest without its files")

	dst := filepath.Join(t.TempDir(), "copy")
	err = tree.Fetch(t.Context(), tree.Source(root, m), m.Digest(), dst)
	require.ErrorAs(t, err, &mismatch)
	assertNothing(t, dst)
}

func assertNothing(t *testing.T, dst string) {
	t.Helper()
	left, err := os.ReadDir(filepath.Dir(dst))
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestFetchOfAnIncompleteTreeLeavesNothing(t *testing.T) {
	root := sample(t)
	m := scan(t, root)
	store := memory.New()
	_, _, err := store.Put(t.Context(), bytes.NewReader(m.Bytes()), m.Digest())
	require.NoError(t, err)
	dst := filepath.Join(t.TempDir(), "copy")
	err = tree.Fetch(t.Context(), store, m.Digest(), dst)
	require.ErrorIs(t, err, corpus.ErrNotFound)
	assertNothing(t, dst)
	err = tree.Fetch(t.Context(), memory.New(), m.Digest(), dst)
	require.ErrorIs(t, err, corpus.ErrNotFound)
	require.ErrorContains(t, err, "manifest")
}

// lyingSource gives other bytes and does not verify them.
type lyingSource struct {
	corpus.Source
	lie  corpus.Digest
	data []byte
}

func (l lyingSource) Open(ctx context.Context, d corpus.Digest) (io.ReadCloser, int64, error) {
	if d == l.lie {
		return io.NopCloser(bytes.NewReader(l.data)), int64(len(l.data)), nil
	}
	return l.Source.Open(ctx, d)
}

func TestFetchTrustsNoSource(t *testing.T) {
	root := sample(t)
	m := scan(t, root)
	dst := filepath.Join(t.TempDir(), "copy")
	java, _ := m.Lookup("bin/java")
	var mismatch *corpus.MismatchError
	for _, lie := range []lyingSource{
		{tree.Source(root, m), java.Digest, []byte("#!/bin/SH\n")},
		{tree.Source(root, m), java.Digest, bytes.Repeat([]byte("x"), 1<<20)},
		{tree.Source(root, m), m.Digest(), []byte("misstep-tree 1\n")},
	} {
		err := tree.Fetch(t.Context(), lie, m.Digest(), dst)
		require.ErrorAs(t, err, &mismatch)
		assertNothing(t, dst)
	}
	wrongSize, err := tree.New([]tree.Entry{{Kind: tree.KindFile, Path: "java", Size: java.Size + 1, Digest: java.Digest}})
	require.NoError(t, err)
	store := memory.New()
	require.NoError(t, tree.Push(t.Context(), store, root, m))
	_, _, err = store.Put(t.Context(), bytes.NewReader(wrongSize.Bytes()), corpus.Digest{})
	require.NoError(t, err)
	require.ErrorContains(t, tree.Fetch(t.Context(), store, wrongSize.Digest(), dst), "does not have the 11 bytes")
	assertNothing(t, dst)
}

func TestFetchOnAFullDiskSaysSo(t *testing.T) {
	root := sample(t)
	write(t, filepath.Join(root, "big"), string(make([]byte, 3<<20)), 0o644)
	m := scan(t, root)
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("needs the right to mount a small file system: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(disk, 0)) })
	dst := filepath.Join(disk, "copy")
	err := tree.Fetch(t.Context(), tree.Source(root, m), m.Digest(), dst)
	require.ErrorIs(t, err, unix.ENOSPC)
	require.ErrorContains(t, err, "4 MiB needed")
	assertNothing(t, dst)
}

func TestScanRefusesWhatATreeCannotHold(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"pipe":   func(p string) error { return unix.Mkfifo(p, 0o600) },
		"socket": func(p string) error { _, err := net.Listen("unix", p); return err },
	} {
		root := t.TempDir()
		require.NoError(t, make(filepath.Join(root, "x")), name)
		_, err := tree.Scan(root)
		require.ErrorContains(t, err, "neither a file nor a folder nor a link", name)
	}
	root := t.TempDir()
	if err := unix.Mknod(filepath.Join(root, "null"), unix.S_IFCHR, int(unix.Mkdev(1, 3))); err != nil {
		t.Skipf("needs the right to make a device: %v", err)
	}
	_, err := tree.Scan(root)
	require.ErrorContains(t, err, "null is neither")
}

func TestScanRefusesLinksThatLeave(t *testing.T) {
	for _, target := range []string{"/etc/passwd", "../outside", "in/../../x"} {
		root := sample(t)
		require.NoError(t, os.Symlink(target, filepath.Join(root, "out")))
		_, err := tree.Scan(root)
		require.ErrorContains(t, err, "leaves the tree", target)
	}
}

func TestScanOfNoFolder(t *testing.T) {
	_, err := tree.Scan(filepath.Join(t.TempDir(), "gone"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	name := filepath.Join(t.TempDir(), "file")
	write(t, name, "", 0o600)
	_, err = tree.Scan(name)
	require.ErrorContains(t, err, "is not a folder")
}

// TestInlineOutside has the layout of Debian's JDKs: conf in /etc, a link to nothing, the host's certificates.
func TestInlineOutside(t *testing.T) {
	root, etc := sample(t), t.TempDir()
	write(t, filepath.Join(etc, "net.properties"), "a=b\n", 0o644)
	write(t, filepath.Join(etc, "cacerts"), "host's own", 0o644)
	require.NoError(t, os.MkdirAll(filepath.Join(etc, "conf.d", "sub"), 0o755))
	write(t, filepath.Join(etc, "conf.d", "sub", "one"), "1", 0o644)
	require.NoError(t, os.Symlink("sub/one", filepath.Join(etc, "conf.d", "inner")))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(etc, "conf.d", "dangling")))
	for name, target := range map[string]string{
		"net.properties": etc + "/net.properties", "cacerts": etc + "/cacerts", "src.zip": "../../gone/src.zip", "conf.d": etc + "/conf.d",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(root, name)))
	}
	keep := tree.InlineOutside(func(path, target string) bool {
		assert.True(t, filepath.IsAbs(target))
		return path != "cacerts"
	})
	m := scan(t, root, keep)
	var outside []string
	for e := range m.Entries() {
		if _, inside := scan(t, sample(t)).Lookup(e.Path); !inside {
			outside = append(outside, e.Kind.String()+" "+e.Path)
		}
	}
	assert.Equal(
		t,
		[]string{"dir conf.d", "file conf.d/inner", "dir conf.d/sub", "file conf.d/sub/one", "file net.properties"},
		outside,
	)

	dst := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, tree.Fetch(t.Context(), tree.Source(root, m), m.Digest(), dst))
	assert.Equal(t, m.Digest(), scan(t, dst).Digest(), "the copy needs nothing outside")
}

func TestFingerprintFollowsTheTree(t *testing.T) {
	root := sample(t)
	before, err := tree.Fingerprint(root)
	require.NoError(t, err)
	again, err := tree.Fingerprint(root)
	require.NoError(t, err)
	assert.Equal(t, before, again)
	for name, change := range map[string]func() error{
		"rewritten": func() error {
			return os.WriteFile(filepath.Join(root, "release"), []byte("JAVA_VERSION=\"18\"\n"), 0o600)
		},
		"executable": func() error { return os.Chmod(filepath.Join(root, "release"), 0o755) },
		"added":      func() error { return os.Mkdir(filepath.Join(root, "more"), 0o755) },
		"relinked": func() error {
			link := filepath.Join(root, "lib", "release")
			if err := os.Remove(link); err != nil {
				return err
			}
			return os.Symlink("twin", link)
		},
	} {
		require.NoError(t, change(), name)
		after, err := tree.Fingerprint(root)
		require.NoError(t, err)
		assert.NotEqual(t, before, after, name)
		before = after
	}
}

// countingStore counts what is really sent.
type countingStore struct {
	corpus.Store
	puts atomic.Int64
}

func (c *countingStore) Put(ctx context.Context, r io.Reader, want corpus.Digest) (corpus.Digest, int64, error) {
	c.puts.Add(1)
	return c.Store.Put(ctx, r, want)
}

func TestPushSendsOnlyWhatIsMissing(t *testing.T) {
	root := sample(t)
	store := &countingStore{Store: memory.New()}
	require.NoError(t, tree.Push(t.Context(), store, root, scan(t, root)))
	assert.EqualValues(t, 4, store.puts.Load(), "java, release (twin is the same), nothing and the manifest")
	write(t, filepath.Join(root, "new"), "new", 0o600)
	require.NoError(t, tree.Push(t.Context(), store, root, scan(t, root)))
	assert.EqualValues(t, 6, store.puts.Load(), "one file and the manifest")
}

// stallingSource waits in Open until it is let go.
type stallingSource struct {
	corpus.Source
	reached, proceed chan struct{}
}

func (s stallingSource) Open(ctx context.Context, d corpus.Digest) (io.ReadCloser, int64, error) {
	if _, size, err := s.Source.Open(ctx, d); err == nil && size == int64(len("#!/bin/sh\n")) {
		close(s.reached)
		<-s.proceed
	}
	return s.Source.Open(ctx, d)
}

// TestFetchSweepsOnlyDeadFetches has one fetch in the middle of its work, the leftovers of a killed one, and a third that sweeps.
func TestFetchSweepsOnlyDeadFetches(t *testing.T) {
	root, cache := sample(t), t.TempDir()
	m := scan(t, root)
	slow := stallingSource{tree.Source(root, m), make(chan struct{}), make(chan struct{})}
	done := make(chan error, 1)
	go func() { done <- tree.Fetch(t.Context(), slow, m.Digest(), filepath.Join(cache, "slow")) }()
	<-slow.reached
	dead := filepath.Join(cache, ".fetch-dead")
	require.NoError(t, os.MkdirAll(filepath.Join(dead, "bin"), 0o755))

	require.NoError(t, tree.Fetch(t.Context(), tree.Source(root, m), m.Digest(), filepath.Join(cache, "quick")))
	assert.NoDirExists(t, dead)
	close(slow.proceed)
	require.NoError(t, <-done)
	assert.Equal(t, m.Digest(), scan(t, filepath.Join(cache, "slow")).Digest())
}
