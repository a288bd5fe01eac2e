package localdir_test

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"misstep/corpus"
	"misstep/corpus/corpustest"
	"misstep/corpus/localdir"
)

func TestStore(t *testing.T) {
	corpustest.TestStore(t, func(t *testing.T) corpus.Store { return open(t, t.TempDir()) })
}

func open(t *testing.T, dir string) *localdir.Store {
	t.Helper()
	s, err := localdir.New(dir)
	require.NoError(t, err)
	return s
}

func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			name, _ := filepath.Rel(dir, path)
			names = append(names, name)
		}
		return err
	}))
	return names
}

// TestLayout pins what FORMAT.md promises: another tool may read the folder.
func TestLayout(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "by New")
	s := open(t, dir)
	_, _, err := s.Put(t.Context(), bytes.NewReader([]byte("misstep\n")), corpus.Digest{})
	require.NoError(t, err)
	const digits = "a198d6f87c5038040cda251d3628af3c847c3efd5f636ab42101bf2851abbf7b" // printf 'misstep\n' | sha256sum
	require.Equal(t, []string{digits[:2] + "/" + digits}, files(t, dir))
	info, err := os.Stat(filepath.Join(dir, digits[:2], digits))
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o444), info.Mode())
}

func TestABlobOutlivesTheStore(t *testing.T) {
	dir := t.TempDir()
	d, _, err := open(t, dir).Put(t.Context(), bytes.NewReader([]byte("kept")), corpus.Digest{})
	require.NoError(t, err)
	got, err := corpus.ReadAll(t.Context(), open(t, dir), d, 10)
	require.NoError(t, err)
	assert.Equal(t, "kept", string(got))
}

func TestADamagedBlobIsNoticedAndMendedByPut(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	d, _, err := s.Put(t.Context(), bytes.NewReader([]byte("good bytes")), corpus.Digest{})
	require.NoError(t, err)
	name := filepath.Join(dir, files(t, dir)[0])
	require.NoError(t, os.Chmod(name, 0o644))
	require.NoError(t, os.WriteFile(name, []byte("gooD bytes"), 0o644))

	r, _, err := s.Open(t.Context(), d)
	require.NoError(t, err)
	_, err = io.ReadAll(r)
	var mismatch *corpus.MismatchError
	require.ErrorAs(t, err, &mismatch)
	require.NoError(t, r.Close())

	_, _, err = s.Put(t.Context(), bytes.NewReader([]byte("good bytes")), d)
	require.NoError(t, err)
	got, err := corpus.ReadAll(t.Context(), s, d, 100)
	require.NoError(t, err)
	assert.Equal(t, "good bytes", string(got))
}

func TestRefusedBlobsLeaveNoFile(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	_, _, err := s.Put(t.Context(), bytes.NewReader([]byte("bytes")), corpus.DigestBytes([]byte("others")))
	require.Error(t, err)
	assert.Empty(t, files(t, dir))
}

// TestNewSweepsOnlyDeadWriters has one file of a writer that died and one of a writer in the middle of its work.
func TestNewSweepsOnlyDeadWriters(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tmp", "put-dead"), []byte("half a blo"), 0o600))

	reader, writer := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, _, err := s.Put(t.Context(), reader, corpus.DigestBytes([]byte("whole blob")))
		done <- err
	}()
	_, err := writer.Write([]byte("whole ")) // returns once Put has taken it: its file is there and locked
	require.NoError(t, err)
	open(t, dir)
	left := files(t, dir)
	require.Len(t, left, 1)
	assert.NotContains(t, left[0], "put-dead")
	_, err = writer.Write([]byte("blob"))
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	require.NoError(t, <-done)
}

func TestAFullDiskIsSaidAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("needs the right to mount a small file system: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, 0)) })
	s := open(t, dir)
	small := corpustest.Blob(1, 100_000)
	_, _, err := s.Put(t.Context(), bytes.NewReader(small), corpus.Digest{})
	require.NoError(t, err)
	big := corpustest.Blob(2, 3<<20)
	_, _, err = s.Put(t.Context(), bytes.NewReader(big), corpus.DigestBytes(big))
	require.ErrorIs(t, err, unix.ENOSPC)
	assert.Contains(t, err.Error(), "full; free space there or use another folder")
	assert.Contains(t, err.Error(), dir)
	assert.Len(t, files(t, dir), 1, "the part that was written is gone")
	_, _, err = s.Put(t.Context(), bytes.NewReader(corpustest.Blob(3, 100_000)), corpus.Digest{})
	require.NoError(t, err, "what fits is taken again")
}

func TestNewSaysWhatIsInItsWay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := localdir.New(file)
	require.ErrorContains(t, err, file)
	require.ErrorIs(t, err, unix.ENOTDIR)
}
