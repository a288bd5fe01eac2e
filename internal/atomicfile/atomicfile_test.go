package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// files returns the names in dir, including temporary files.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestWriteReplacesAndSetsPermissions(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, perm := range []fs.FileMode{0o644, 0o444, 0o600} {
		require.NoError(t, Write(path, []byte(perm.String()), perm))
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, perm.String(), string(text))
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, perm, info.Mode())
	}
	assert.Equal(t, []string{"file"}, files(t, dir))
	require.ErrorContains(t, Write(filepath.Join(dir, "no", "file"), nil, 0o644), filepath.Join(dir, "no", "file"))
}

func TestAFailureLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	say := func(text string, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			_, failed := fmt.Fprint(w, text)
			return errors.Join(failed, err)
		}
	}
	broken := errors.New("interrupted")
	require.ErrorIs(t, WriteWith(path, say("new", broken)), broken)
	assert.Empty(t, files(t, dir), "nothing is left behind")
	require.NoError(t, WriteWith(path, say("old", nil)))
	require.ErrorIs(t, WriteWith(path, say("new", broken)), broken)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "old", string(text))
	assert.Equal(t, []string{"file"}, files(t, dir))
}

func TestNewFilesHaveThePermissionsOfNewFiles(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o027))
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, WriteWith(path, func(io.Writer) error { return nil }))
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o640), info.Mode())
}
